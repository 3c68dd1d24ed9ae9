"""Snapshots of a cluster in an object store: nodes write them to a server of S3, start from them, and outlast its faults."""

import shutil
import signal

import pytest

from daemon import eventually
from object_store import BUCKET, KEY, REGION, SECRET, ObjectStore
from test_metrics import samples
from test_nodes import Cluster, Load, Node, make_certificates, pytestmark, read_metrics  # noqa: F401

PLACE = f"s3://{BUCKET}/of/test"
LAST = "SELECT name FROM ruled.snapshots ORDER BY sequence DESC LIMIT 1"


@pytest.fixture
def store():
    store = ObjectStore()
    yield store
    store.stop()


class Place:
    """What nodes are told of an object store."""

    def __init__(self, store, folders, more=""):
        self.store, self.file = store, folders.mktemp("s3") / "credentials"
        self.write()
        keys = f'endpoint = "{store.url}", region = "{REGION}", credentials_file = "{self.file}"'
        self.options = {"snapshots": PLACE, "s3": keys + more}

    def write(self, secret=SECRET):
        self.file.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {secret}\n")


@pytest.fixture
def place(store, tmp_path_factory):
    return Place(store, tmp_path_factory)


def add(node):
    """Sends an event, after which a snapshot is due."""
    reply = node.call("event", {"type": "tally.add", "subject": "x", "data": {"number": 1}})
    assert "result" in reply, reply


def with_snapshots(cluster, count=2):
    """Waits for so many snapshots and for one of the log's end, after which none is due; gives the names, the latest first."""
    sql = cluster.database.sql
    eventually(lambda: int(sql("SELECT count(*) FROM ruled.snapshots")) >= count or add(cluster.nodes[0]))
    is_last = "SELECT (SELECT max(sequence) FROM ruled.snapshots) = (SELECT sequence FROM ruled.logs)"
    eventually(lambda: sql(is_last).strip() == "t")
    return sql("SELECT name FROM ruled.snapshots ORDER BY sequence DESC").split()


def test_a_new_node_starts_from_a_snapshot_in_the_store_and_takes_over(tmp_path_factory, store, place):
    cluster = Cluster(tmp_path_factory, names="ab", part=20, **place.options)
    try:
        load = Load(cluster.nodes, pause=0.02)
        cluster.await_cut(1)
        node = Node("c", cluster.database, tmp_path_factory.mktemp("c"), **place.options)
        cluster.nodes.append(node)
        eventually(lambda: node.status == "standby")
        assert "starts from the snapshot" in node.log and "plays back what the log has behind it" in node.log
        methods = lambda: {method for method, _, _ in store.requests}
        eventually(lambda: "DELETE" in methods() and len(store.whole()) in (3, 4))
        load.go_on()
        for other in cluster.nodes[:2]:
            other.end(signal.SIGKILL)
        eventually(lambda: node.is_owner)
        load.go_on()
        load.check(node)
        cluster_id = cluster.database.sql("SELECT id FROM ruled.cluster").strip()
        assert all(name.startswith(f"of/test/{cluster_id}/") for name in store.names)
        assert store.refused == [] and methods() == {"GET", "PUT", "DELETE"}
        assert any("continuation-token=" in path for _, path, _ in store.requests)
    finally:
        cluster.stop()


@pytest.mark.parametrize("fault, words", [("damage", "is damaged"), ("cut", "can't be read: it was tried 6 times")])
def test_a_node_says_what_is_wrong_with_a_snapshot_and_takes_the_one_before(tmp_path_factory, store, place, fault, words):
    cluster = Cluster(tmp_path_factory, names="a", **place.options)
    try:
        last, before = with_snapshots(cluster)[:2]
        store.fault = lambda method, name: fault if method == "GET" and last in name and name.endswith(".log") else None
        node = Node("b", cluster.database, tmp_path_factory.mktemp("b"), **place.options)
        cluster.nodes.append(node)
        eventually(lambda: node.status == "standby")
        assert f"can't start from the snapshot {last}: s3://{BUCKET}/of/test/" in node.log and words in node.log
        assert f"the node has the snapshot {before}" in node.log
    finally:
        cluster.stop()


def test_a_snapshot_that_cannot_be_read_back_is_not_listed(tmp_path_factory, store, place):
    store.fault = lambda method, name: "damage" if method == "GET" and name.endswith(".log") else None
    cluster = Cluster(tmp_path_factory, names="ab", **place.options)
    try:
        follower = cluster.standbys[0]
        add(follower)
        eventually(lambda: "is damaged: its bytes are not those that were written" in follower.problems)
        assert cluster.database.sql("SELECT count(*) FROM ruled.snapshots").strip() == "0"
        assert samples(read_metrics(follower))["ruled_cluster_snapshot_up"] == 0
        store.fault = None
        eventually(lambda: follower.problems == "" and int(cluster.database.sql("SELECT count(*) FROM ruled.snapshots")) > 0)
        assert samples(read_metrics(follower))["ruled_cluster_snapshot_up"] == 1
    finally:
        cluster.stop()


def test_a_store_that_is_busy_at_times_delays_snapshots_only(tmp_path_factory, store, place):
    failed = set()

    def busy(method, name):
        """The first attempt at each second request is refused."""
        if (method, name) in failed or len(failed) > 40:
            return None
        failed.add((method, name))
        return 503 if len(failed) % 2 else None

    store.fault = busy
    cluster = Cluster(tmp_path_factory, names="a", **place.options)
    try:
        assert len(with_snapshots(cluster, 1)) >= 1 and len(failed) > 5
        assert cluster.nodes[0].problems == ""
        # A store that stays busy is reported, and events are decided meanwhile.
        store.fault = lambda method, name: 429
        add(cluster.nodes[0])
        eventually(lambda: "status 429, SlowDown" in cluster.nodes[0].problems)
        assert "it was tried 6 times" in cluster.nodes[0].problems
        tried = len(store.requests)
        add(cluster.nodes[0])
        eventually(lambda: len(store.requests) > tried)
        tried = len(store.requests)
        # It would try six times for each object, a second apart.
        assert cluster.nodes[0].end(signal.SIGTERM) == 0 and len(store.requests) < tried + 4, "it does not wait for the store"
    finally:
        cluster.stop()


def test_what_a_killed_node_left_in_the_store_is_removed(tmp_path_factory, store, place):
    cluster = Cluster(tmp_path_factory, names="ab", **place.options)
    try:
        with_snapshots(cluster, 1)
        follower = cluster.standbys[0]
        stored = []

        def kill(method, name):
            if method == "PUT":
                stored.append(name)
                if len(stored) == 3:
                    follower.end(signal.SIGKILL)

        store.fault = kill
        add(cluster.owners[0])
        eventually(lambda: follower.process.poll() is not None)
        left = {name.rsplit("/", 1)[0] for name in stored[:1]}.pop()
        store.fault = None
        assert left not in store.whole() and any(name.startswith(left) for name in store.names)
        # The owner writes snapshots once the killed node's lease is over, and its turn, which would last a minute.
        cluster.database.sql("DELETE FROM ruled.turns")
        eventually(lambda: not any(name.startswith(left) for name in store.names))
        folders = {"/".join(name.split("/")[:4]) for name in store.names}
        eventually(lambda: folders <= store.whole() or len(store.whole()) > 1)
    finally:
        cluster.stop()


def test_a_wrong_secret_is_named_and_taken_once_it_is_right(tmp_path_factory, store, place):
    place.write("wrong")
    cluster = Cluster(tmp_path_factory, names="a", **place.options)
    try:
        node = cluster.nodes[0]
        add(node)
        eventually(lambda: f"the secret key in {place.file} is not the one of the key's id" in node.problems)
        assert "SignatureDoesNotMatch" in node.problems and store.refused and store.names == []
        assert SECRET not in node.log and "wrong" not in node.problems
        place.write()
        eventually(lambda: len(store.whole()) > 0 and node.problems == "")
    finally:
        cluster.stop()


def test_credentials_of_the_environment_with_a_token(tmp_path_factory, store, monkeypatch):
    store.token = "token/of+a=session"
    names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
    for name, value in zip(names, [KEY, SECRET, store.token]):
        monkeypatch.setenv(name, value)
    options = {"snapshots": PLACE, "s3": f'endpoint = "{store.url}", region = "{REGION}"'}
    cluster = Cluster(tmp_path_factory, names="a", **options)
    try:
        assert len(with_snapshots(cluster, 1)) >= 1 and store.refused == []
        for name in names:
            monkeypatch.delenv(name)
        node = Node("b", cluster.database, tmp_path_factory.mktemp("b"), **options)
        assert node.process.wait(180) == 2
        assert "there are no credentials" in node.log and "set cluster.s3.credentials_file" in node.log
    finally:
        cluster.stop()


def test_the_store_proves_itself_to_the_nodes(tmp_path_factory):
    certificates = tmp_path_factory.mktemp("tls")
    make_certificates(certificates, ["store"])
    store = ObjectStore(certificates / "store")
    try:
        place = Place(store, tmp_path_factory)
        trusting = Place(store, tmp_path_factory, f', authority = "{certificates}/authority.pem"')
        cluster = Cluster(tmp_path_factory, names="a", **place.options)
        try:
            node = cluster.nodes[0]
            add(node)
            eventually(lambda: "check cluster.s3.endpoint and cluster.s3.authority" in node.problems)
            assert "certificate" in node.problems and store.requests == []
            other = Node("b", cluster.database, tmp_path_factory.mktemp("b"), **trusting.options)
            cluster.nodes.append(other)
            eventually(lambda: len(store.whole()) > 0)
        finally:
            cluster.stop()
    finally:
        store.stop()
