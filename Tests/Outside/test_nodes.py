"""Nodes of ruled over one database: one owns the log of commits, the others follow, and take over when it dies. Nothing is lost or done twice."""

import ctypes.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import httpx
import pytest
import yaml

from daemon import PROGRAMS, eventually
from test_metrics import ALERTS, names, samples

POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")

pytestmark = pytest.mark.skipif(
    not (POSTGRES / "initdb").exists() or ctypes.util.find_library("pq") is None,
    reason="postgresql-15 or libpq5 is not installed",
)

TALLY = """
plugin { name = "tally", version = "1.0.0" }
rule "add" {
  on = "tally.add",
  run = function(event, state)
    state.numbers = state.numbers or {}
    state.numbers[#state.numbers + 1] = event.data.number
  end,
}
"""


class Database:
    """A PostgreSQL server in a folder of its own, on a Unix socket."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ruled-db-")
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "--no-locale")
        with open(f"{self.folder}/data/postgresql.auto.conf", "a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n")
        self.start()
        self.url = f"postgresql:///postgres?host={self.folder}&user=postgres"

    def run(self, program, *arguments):
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*user, POSTGRES / program, "-D", f"{self.folder}/data", *arguments], check=True, capture_output=True)

    def start(self):
        self.run("pg_ctl", "-l", f"{self.folder}/log", "-w", "start")

    def stop(self):
        self.run("pg_ctl", "-m", "immediate", "-w", "stop")

    def sql(self, statement):
        """What a statement returns."""
        command = [POSTGRES / "psql", self.url, "-v", "ON_ERROR_STOP=1", "-Atqc", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Node:
    """A node of a cluster, which may be killed, stopped and started again."""

    def __init__(self, name, database, folder, **options):
        self.name, self.folder = name, folder
        self.socket = str(folder / "s")
        (folder / "rules" / "tally").mkdir(parents=True)
        (folder / "rules" / "tally" / "plugin.lua").write_text(TALLY)
        durability = options.get("durability", "primary")
        more = f', snapshots = "{options["snapshots"]}", snapshot_every = "1s"' if "snapshots" in options else ""
        (folder / "ruled.conf.lua").write_text(
            f'socket = "{self.socket}"\nrules = "{folder}/rules"\nstore = "{database.url}"\ndurability = "{durability}"\nworkers = 2\n'
            f'cluster = {{ node = "{name}", address = "{self.socket}", folder = "{folder}/store", lease = "2s"{more} }}\n'
        )
        self.start()

    def start(self, *before):
        """Starts the node, by another program if one is given."""
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen([*before, PROGRAMS / "ruled", "--config", self.folder / "ruled.conf.lua"], stderr=log)

    def write_rules(self, text):
        """Replaces the plugin in the node's own folder, in one step."""
        new = self.folder / "plugin.lua"
        new.write_text(text)
        new.rename(self.folder / "rules" / "tally" / "plugin.lua")

    @property
    def problems(self):
        return " ".join(self.call("health")["result"]["problems"])

    def add(self, number=1, subject="x"):
        """What is decided on an event."""
        reply = self.call("event", {"type": "tally.add", "subject": subject, "data": {"number": number}})
        return reply["result"]["decisions"]["tally"]["kind"]

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def call(self, method, params=None, seconds=30):
        """The reply to a request; None if there is none."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(seconds)
                connection.connect(self.socket)
                request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile() as lines:
                    line = lines.readline()
                return json.loads(line) if line else None
        except OSError:
            return None

    @property
    def status(self):
        reply = self.call("health", seconds=5)
        return reply["result"]["status"] if reply else None

    @property
    def is_owner(self):
        return self.status == "ready"

    def end(self, number):
        """Sends a signal, and gives the exit code once the process has ended."""
        self.process.send_signal(number)
        return self.process.wait(60)


class Cluster:
    """A database with three nodes."""

    def __init__(self, folders, names="abc", part=None, **options):
        self.database = Database()
        if part:
            self.divide(folders, part)
        self.nodes = [Node(name, self.database, folders.mktemp(name), **options) for name in names]
        eventually(lambda: len(self.owners) == 1 and len(self.standbys) == len(self.nodes) - 1, seconds=60)

    def divide(self, folders, part):
        """Gives the log, which is empty, parts of so many batches."""
        maker = Node("maker", self.database, folders.mktemp("maker"))
        eventually(lambda: maker.is_owner, seconds=60)
        maker.end(signal.SIGTERM)
        for name in self.database.sql("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'ruled.commits'::regclass").split():
            self.database.sql(f"DROP TABLE {name}")
        self.database.sql("UPDATE ruled.logs SET epoch = 0, owner = NULL, incarnation = NULL, sequence = 0, digest = ''")
        self.database.sql(f"UPDATE ruled.cluster SET part = {part}")

    @property
    def owners(self):
        return [node for node in self.nodes if node.process.poll() is None and node.is_owner]

    @property
    def standbys(self):
        return [node for node in self.nodes if node.process.poll() is None and node.status == "standby"]

    def stop(self):
        for node in self.nodes:
            if node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
                node.end(signal.SIGKILL)
        self.database.stop()
        shutil.rmtree(self.database.folder)


class Load:
    """Clients that number the events of a subject each, and repeat each event until it is acknowledged."""

    def __init__(self, nodes, count=4):
        self.nodes, self.is_ending = nodes, threading.Event()
        self.acknowledged = [0] * count
        self.threads = [threading.Thread(target=self.send, args=(subject,), daemon=True) for subject in range(count)]
        for thread in self.threads:
            thread.start()

    def send(self, subject):
        preferred = 0
        while not self.is_ending.is_set():
            number = self.acknowledged[subject]
            params = {"type": "tally.add", "subject": f"s:{subject}", "id": f"{number}", "source": "load", "data": {"number": number}}
            reply = self.nodes[preferred].call("event", params, seconds=5)
            if reply and "result" in reply:
                self.acknowledged[subject] += 1
            else:
                preferred = (preferred + 1) % len(self.nodes)
                time.sleep(0.02)

    def go_on(self, more=20):
        """Waits until so many more events of each client are acknowledged."""
        wanted = [count + more for count in self.acknowledged]
        eventually(lambda: all(count >= least for count, least in zip(self.acknowledged, wanted)), seconds=120)

    def check(self, node):
        """Ends the load; the node has what was acknowledged, in its order, once, and at most the event that was under way."""
        self.is_ending.set()
        for thread in self.threads:
            thread.join()
        for subject, count in enumerate(self.acknowledged):
            numbers = node.call("state", {"subject": f"s:{subject}"})["result"]["plugins"]["tally"]["numbers"]
            assert numbers == list(range(len(numbers)))
            assert len(numbers) in (count, count + 1)


@pytest.fixture
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory)
    yield cluster
    cluster.stop()


def test_a_standby_names_the_owner(cluster):
    owner = cluster.owners[0]
    for node in cluster.standbys:
        # A node that has just started may not have asked yet who owns the log.
        eventually(lambda: node.call("health")["result"]["owner"] == owner.name)
        error = node.call("event", {"type": "tally.add", "subject": "s:1", "data": {"number": 1}})["error"]
        assert error["data"]["code"] == "unavailable"
        assert error["data"]["owner"] == owner.name and error["data"]["owner_address"] == owner.socket
        with httpx.Client(transport=httpx.HTTPTransport(uds=node.socket), base_url="http://localhost") as web:
            reply = web.get("/v1/health")
            assert reply.status_code == 503 and reply.json()["error"]["data"]["owner"] == owner.name


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_nothing_is_lost_or_done_twice_when_the_owner_goes(cluster, fault):
    load = Load(cluster.nodes)
    for _ in range(2):
        load.go_on()
        owner = cluster.owners[0]
        owner.process.send_signal(fault)
        if fault != signal.SIGSTOP:
            owner.process.wait(60)
        load.go_on()
        if fault == signal.SIGSTOP:
            owner.process.send_signal(signal.SIGCONT)
            assert owner.process.wait(60) == 2, "a fenced owner ends, so that its service is started again"
            assert "another node has taken the log" in owner.log
        owner.start()
        eventually(lambda: len(cluster.standbys) == 2, seconds=60)
    load.check(cluster.owners[0])


def test_an_owner_that_stood_still_with_nothing_to_do_notices_that_it_was_replaced(cluster):
    owner = cluster.owners[0]
    owner.process.send_signal(signal.SIGSTOP)
    eventually(lambda: any(node is not owner and node.is_owner for node in cluster.nodes), seconds=60)
    owner.process.send_signal(signal.SIGCONT)
    assert owner.process.wait(60) == 2
    assert "another node has taken the log" in owner.log


def tool(node, *words):
    """What `rulectl cluster` ends with: its code, its answer, and what it complains of."""
    command = [PROGRAMS / "rulectl", "--socket", node.socket, "cluster", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_a_drained_owner_gives_the_log_up_and_follows(cluster):
    load = Load(cluster.nodes)
    load.go_on()
    for _ in range(2):
        owner = cluster.owners[0]
        code, answer, _ = tool(cluster.standbys[0], "drain", owner.name)
        assert code == 0 and answer["owner"] not in (None, owner.name)
        load.go_on()
        eventually(lambda: owner.status == "standby", seconds=60)
        assert owner.process.poll() is None, "the same process follows"
        for node in cluster.nodes:
            answer = tool(node)[1]
            assert answer["node"] == node.name and answer["log"]["epoch"] >= 2 and answer["database"]["primary"]
            assert {one["name"]: one["drained"] for one in answer["nodes"]} == {n.name: n is owner for n in cluster.nodes}
            assert sorted(one["role"] for one in answer["nodes"]) == ["follower", "follower", "owner"]
        assert tool(owner, "undrain", owner.name)[0] == 0
    load.check(cluster.owners[0])


def test_a_drained_node_does_not_take_over(cluster):
    first, second = cluster.standbys
    assert tool(first, "drain", first.name)[0] == 0
    owner = cluster.owners[0]
    owner.end(signal.SIGKILL)
    eventually(lambda: second.is_owner, seconds=60)
    code, _, problem = tool(first, "drain", second.name)
    assert code != 0 and "nobody could take over" in problem and "--force" in problem
    eventually(lambda: {node["name"]: node["role"] for node in tool(first)[1]["nodes"]}[owner.name] == "gone")
    second.end(signal.SIGTERM)
    assert tool(first)[0] == 1, "nobody owns the log"
    assert first.status == "standby"
    assert tool(first, "undrain", first.name)[0] == 0
    eventually(lambda: first.is_owner, seconds=60)
    assert tool(first, "drain", "nobody")[2].strip().endswith("lists them")


def test_a_daemon_with_a_store_of_its_own_is_no_cluster(start):
    code, answer, problem = tool(start())
    assert code == 2 and answer is None and "not a node of a cluster" in problem


def metrics(node):
    with httpx.Client(transport=httpx.HTTPTransport(uds=node.socket), base_url="http://localhost") as web:
        reply = web.get("/metrics")
        assert reply.status_code == 200
        return samples(reply.text)


def test_the_metrics_of_an_owner(cluster):
    load = Load(cluster.nodes)
    load.go_on()
    load.check(owner := cluster.owners[0])
    found = metrics(owner)
    assert found[f'ruled_cluster_role{{node="{owner.name}",role="owner"}}'] == found["ruled_cluster_up"] == 1
    assert found["ruled_cluster_epoch"] == 1 and found["ruled_cluster_behind"] == found["ruled_cluster_drained"] == 0
    assert found["ruled_cluster_sequence"] == found["ruled_cluster_commit_seconds_count"] >= 20
    assert 0 < found["ruled_cluster_lease_seconds"] <= 2 and found["ruled_cluster_connections_total"] == 3
    assert found["ruled_cluster_commits_doubtful_total"] == found["ruled_cluster_commits_refused_total"] == 0
    rules = [rule["expr"] for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]]
    used = set().union(*(names(rule) for rule in rules if "_cluster_" in rule))
    assert len(used) >= 6 and used <= {name.split("{")[0] for name in found}


def test_nothing_is_lost_or_done_twice_when_the_database_dies(cluster):
    load = Load(cluster.nodes)
    for _ in range(2):
        load.go_on()
        cluster.database.stop()
        cluster.database.start()
    load.go_on()
    eventually(lambda: len(cluster.owners) == 1)
    load.check(cluster.owners[0])


def test_a_new_node_starts_from_a_snapshot_and_takes_over(tmp_path_factory):
    snapshots = tmp_path_factory.mktemp("snapshots")
    cluster = Cluster(tmp_path_factory, names="ab", part=20, snapshots=snapshots)
    try:
        load = Load(cluster.nodes)
        first = "SELECT coalesce(min(sequence), 0) FROM ruled.commits"
        eventually(lambda: int(cluster.database.sql(first)) > 1, seconds=120)
        node = Node("c", cluster.database, tmp_path_factory.mktemp("c"), snapshots=snapshots)
        cluster.nodes.append(node)
        eventually(lambda: node.status == "standby", seconds=120)
        assert "starts from the snapshot" in node.log and "plays back what the log has behind it" in node.log
        load.go_on()
        for other in cluster.nodes[:2]:
            other.end(signal.SIGKILL)
        eventually(lambda: node.is_owner, seconds=60)
        load.go_on()
        load.check(node)
        assert len(list(snapshots.glob("*/*/SNAPSHOT"))) in (3, 4)
    finally:
        cluster.stop()


def decides(kind):
    """The tally, with a decision of this kind."""
    return TALLY.replace("run = function(event, state)", f'run = function(event, state)\n    decide("kind", "{kind}")')


def test_the_rules_in_force_are_those_of_the_log(cluster):
    owner = cluster.owners[0]
    load = Load(cluster.nodes)
    load.go_on()
    owner.write_rules(decides("new"))
    reply = owner.call("reload")
    assert "result" in reply, reply
    revision = reply["result"]["revision"]
    assert owner.add() == "new"
    owner.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1, seconds=60)
    taker = cluster.owners[0]
    assert taker.add() == "new" and taker.call("health")["result"]["revision"] == revision
    assert "the rules folder of this node has others" in taker.problems and "the rules folder of this node has others" in taker.log
    shown = [entry for entry in taker.call("revisions")["result"] if entry["live"]]
    assert [entry["revision"] for entry in shown] == [revision]
    # What the folder of a follower holds changes nothing, nor does its start; who asks for it gets the new owner's folder.
    owner.start()
    eventually(lambda: owner.status == "standby", seconds=60)
    taker.write_rules(decides("other"))
    eventually(lambda: taker.add() == "other", seconds=60)
    assert "others" not in taker.problems
    load.go_on()
    load.check(taker)


@pytest.mark.skipif(os.getuid() != 0, reason="the time zones of a node are hidden as root only")
def test_a_node_that_cannot_load_a_revision_holds_it_up(cluster):
    owner, follower = cluster.owners[0], cluster.standbys[0]
    follower.end(signal.SIGTERM)
    hide = 'mount -t tmpfs none /usr/share/zoneinfo && exec "$0" "$@"'
    follower.start("unshare", "-m", "sh", "-c", hide)
    eventually(lambda: len(cluster.standbys) == 2, seconds=60)
    before = owner.call("health")["result"]["revision"]
    new = decides("new") + '\nlocal day = calendar.day(0, "Europe/Berlin")\n'
    owner.write_rules(new)
    reply = owner.call("reload")
    message = json.dumps(reply["error"])
    assert f"node {follower.name} can't load revision" in message and "Europe/Berlin" in message
    assert owner.call("health")["result"]["revision"] == before
    follower.end(signal.SIGTERM)
    follower.start()
    eventually(lambda: len(cluster.standbys) == 2, seconds=60)
    assert owner.call("reload")["result"]["revision"] != before
    assert owner.add() == "new"
    # A node that comes later and can't load what is in force does not take over.
    follower.end(signal.SIGTERM)
    follower.start("unshare", "-m", "sh", "-c", hide)
    eventually(lambda: follower.status == "degraded" and "can't take over" in follower.problems, seconds=60)
    for node in cluster.nodes:
        if node is not follower and node is not owner:
            other = node
    owner.end(signal.SIGKILL)
    eventually(lambda: other.is_owner, seconds=60)
    assert other.add() == "new"


def test_a_rollout_goes_on_after_a_take_over(cluster):
    owner = cluster.owners[0]
    rules = {"plugins": [{"name": "tally", "modules": [{"path": "tally/plugin.lua", "text": decides("tried")}], "data": []}], "library": []}
    reply = owner.call("rollout_start", {"rules": rules, "percent": 100})
    assert "result" in reply, reply
    assert owner.add() == "tried"
    owner.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1, seconds=60)
    taker = cluster.owners[0]
    assert taker.add() == "tried"
    assert taker.call("rollout_status")["result"]["state"] == "running"
    promoted = taker.call("rollout_promote")["result"]["revision"]
    taker.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1, seconds=60)
    last = cluster.owners[0]
    assert last.add() == "tried" and last.call("health")["result"]["revision"] == promoted


def test_a_database_that_could_lose_commits_is_refused(tmp_path_factory):
    database = Database()
    try:
        node = Node("a", database, tmp_path_factory.mktemp("a"), durability="commit")
        assert node.process.wait(60) == 2
        assert "synchronous_standby_names is empty" in node.log
    finally:
        database.stop()
        shutil.rmtree(database.folder)
