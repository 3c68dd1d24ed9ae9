"""Nodes whose log of commits is in two databases, each on a server of its own."""

import ctypes.util
import re
import shutil
import signal
import subprocess
import threading

import pytest

from daemon import PROGRAMS, eventually
from test_nodes import Cluster, Database, Load, Node
from throwaway_postgres import is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None,
    reason="postgresql-15 or libpq5 is not installed",
)


@pytest.fixture(scope="module")
def further():
    database = Database()
    yield database
    database.stop()
    shutil.rmtree(database.folder)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, further):
    cluster = Cluster(tmp_path_factory, further=[further])
    yield cluster
    cluster.stop()


def shown(node):
    """What `rulectl cluster` prints."""
    return subprocess.run([PROGRAMS / "rulectl", "--socket", node.socket, "cluster"], capture_output=True, text=True).stdout


def await_nodes(cluster):
    eventually(lambda: len(cluster.owners) == 1 and len(cluster.standbys) == 2, seconds=120)


def test_batches_take_turns_and_each_database_is_shown(cluster, further):
    owner = cluster.owners[0]
    for number in range(20):
        assert "result" in owner.call("event", {"type": "tally.add", "subject": "t:1", "data": {"number": number}})
    counts = [int(database.sql("SELECT count(*) FROM ruled.commits")) for database in (cluster.database, further)]
    assert abs(counts[0] - counts[1]) <= 1 and sum(counts) >= 20
    for node in cluster.nodes:
        found = node.call("cluster")["result"]
        assert len(found["databases"]) == 1 and found["databases"][0]["problem"] is None
        assert found["log"]["bytes"] == found["database"]["bytes"] + found["databases"][0]["bytes"]
        assert found["log"]["sequence"] >= 20
        assert len(re.findall("^database  primary at", shown(node), re.MULTILINE)) == 2


def test_nothing_is_lost_or_done_twice_when_owners_and_databases_go(cluster, further):
    load = Load(cluster.nodes)
    for database in (further, cluster.database):
        load.go_on()
        eventually(lambda: len(cluster.owners) == 1)
        cluster.owners[0].process.kill()
        load.go_on()
        database.stop()
        database.start()
        load.go_on()
        for node in cluster.nodes:
            if node.process.poll() is not None:
                node.start()
        await_nodes(cluster)
    eventually(lambda: len(cluster.owners) == 1)
    load.check(cluster.owners[0])


def test_a_database_that_is_gone_is_shown_and_events_wait_for_it(cluster, further):
    await_nodes(cluster)
    owner = cluster.owners[0]
    further.stop()
    try:
        found = cluster.standbys[0].call("cluster")["result"]
        assert found["database"]["problem"] is None
        assert "can't be reached" in found["databases"][0]["problem"] and found["databases"][0]["primary"] == ""
        assert "database  there is no connection" in shown(owner)
        # Also while a commit waits for it: one of two batches does.
        answers = []
        add = lambda number: answers.append(owner.call("event", {"type": "tally.add", "subject": "g:1", "data": {"number": number}}))
        for number in range(2):
            threading.Thread(target=add, args=(number,)).start()
            eventually(lambda: "can't be reached" in owner.problems, seconds=15)
        assert len(answers) < 2
    finally:
        further.start()
    eventually(lambda: len(answers) == 2)
    eventually(lambda: any(node.process.poll() is None and node.is_owner and not node.problems for node in cluster.nodes), seconds=60)


def test_a_node_that_does_not_name_both_is_told_which_one(cluster, tmp_path_factory):
    await_nodes(cluster)
    node = Node("d", cluster.database, tmp_path_factory.mktemp("d"))
    assert node.process.wait(60) == 2
    assert "a part of the log is in the database postgres, which 'databases' in this node's configuration does not name" in node.log
    assert "result" in cluster.owners[0].call("state", {"subject": "t:1"})


def test_a_database_can_be_added_node_by_node(tmp_path_factory):
    added = Database()
    cluster = Cluster(tmp_path_factory, tunnels=False)
    try:
        load = Load(cluster.nodes)
        load.go_on()
        # The owner comes last.
        for node in cluster.standbys + cluster.owners:
            path = node.folder / "ruled.conf.lua"
            path.write_text(path.read_text().replace("databases = {  }", f'databases = {{ "{added.url}" }}'))
            node.end(signal.SIGTERM)
            node.start()
            await_nodes(cluster)
        load.go_on()
        eventually(lambda: int(added.sql("SELECT count(*) FROM ruled.commits")) > 0)
        load.check(cluster.owners[0])
    finally:
        cluster.stop()
        added.stop()
        shutil.rmtree(added.folder)
