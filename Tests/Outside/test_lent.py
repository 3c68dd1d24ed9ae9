"""What is promised of a subject holds whichever node evaluates for it: its data, limits, ends of nodes."""

import ctypes.util
import http.server
import json
import signal
import threading
import time

import pytest

from daemon import eventually
from test_nodes import Client, Cluster, tool
from test_shares import await_shares
from throwaway_postgres import is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None,
    reason="postgresql-15 or libpq5 is not installed",
)

RULES = """
plugin { name = "tally", version = "1.0.0", sinks = { "nowhere", "picky" } }
rule "where" { on = "where", run = function(event) log.info("is here: " .. event.data.mark) end }
rule "add" { on = "add", run = function(_, state) state.n = (state.n or 0) + 1 end }
rule "hold" { on = "hold", run = function(_, state)
  state.kept = true
  once("key")
  timer.set("later", now() + 86400, "add", {})
  emit("nowhere", "thing", {})
end }
rule "fail" { on = "fail", run = function() error("wrong") end }
rule "need" { on = "need", run = function(event, state)
  if not state.is_open then error("closed") end
  state.numbers = state.numbers or {}
  table.insert(state.numbers, event.data.number)
end }
rule "open" { on = "open", run = function(_, state) state.is_open = true end }
rule "close" { on = "close", run = function(_, state) state.is_open, state.numbers = false, nil end }
rule "tell" { on = "tell", run = function() emit("picky", "thing", {}) end }
rule "send" { on = "send", run = function(event) for _ = 1, event.data.count do send(event.data.to, "add", {}) end end }
rule "emit" { on = "emit", run = function() for _ = 1, 9 do emit("nowhere", "thing", { text = string.rep("x", 100000) }) end end }
"""


class Receiver:
    """An HTTP server that effects are sent to; it refuses them until it is told to take them."""

    def __init__(self):
        self.takes, self.taken = False, []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                if receiver.takes:
                    receiver.taken.append(self.headers["Idempotency-Key"])
                self.send_response(200 if receiver.takes else 400)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, receiver):
    cluster = Cluster(tmp_path_factory)
    for node in cluster.nodes:
        node.write_rules(RULES)
        configuration = node.folder / "ruled.conf.lua"
        sinks = f'sinks = {{ nowhere = {{ url = "http://127.0.0.1:9/" }}, picky = {{ url = "{receiver.url}" }} }}\n'
        configuration.write_text(configuration.read_text() + sinks)
        node.process.send_signal(signal.SIGHUP)
    assert "result" in cluster.owners[0].call("reload")
    yield cluster
    cluster.stop()


def event(type, subject, /, **data):
    return {"jsonrpc": "2.0", "id": 1, "method": "event", "params": {"type": type, "subject": subject, "data": data}}


def places(cluster, prefix):
    """Some subjects by the name of the node that evaluates for them."""
    owner = await_shares(cluster)
    subjects = [f"{prefix}-{number}" for number in range(24)]
    for subject in subjects:
        assert "result" in owner.call("event", event("where", subject, mark=f"{subject}.")["params"])
    found = {node.name: [subject for subject in subjects if f"is here: {subject}." in node.log] for node in cluster.nodes}
    assert all(found.values())
    return found


def test_each_node_says_where_a_subject_is_evaluated(cluster):
    here = places(cluster, "where")
    for name, subjects in here.items():
        for node in cluster.nodes:
            code, answer, _ = tool(node, "where", subjects[0])
            assert (code, answer["subject"], answer["node"]) == (0, subjects[0], name)
            assert 0 <= answer["partition"] < 256
    lender = cluster.standbys[0]
    subject = here[lender.name][0]
    assert tool(cluster.owners[0], "drain", lender.name)[0] == 0
    eventually(lambda: all(tool(node, "where", subject)[1]["node"] != lender.name for node in cluster.nodes))
    assert tool(cluster.owners[0], "undrain", lender.name)[0] == 0
    assert "required" in lender.call("cluster_where")["error"]["message"]


def test_a_lent_subject_is_exported_and_forgotten_by_each_node(cluster):
    here = places(cluster, "forgotten")
    owner, (lender, third) = cluster.owners[0], cluster.standbys
    subject = here[lender.name][0]
    waiting = lambda: owner.call("health")["result"]["sinks"].get("nowhere", {}).get("waiting", 0)  # noqa: E731
    for node in (owner, lender, third):
        for request in (event("hold", subject), event("fail", subject), event("send", here[owner.name][0], to=subject, count=50)):
            assert "result" in node.call("event", request["params"])
        eventually(lambda: node.call("state", {"subject": subject})["result"]["plugins"]["tally"].get("n") == 50)
        eventually(lambda: waiting() == 1)
        found = node.call("export", {"subject": subject})["result"]
        assert [len(found[part]) for part in ("plugins", "timers", "once", "effects", "parked")] == [1, 1, 1, 1, 1]
        erased = node.call("forget", {"subject": subject})["result"]["forgotten"]
        assert [erased[part] for part in ("state", "timers", "effects", "parked")] == [1, 1, 1, 1]
        for other in cluster.nodes:
            assert other.call("export", {"subject": subject})["error"]["data"]["code"] == "not_found"
        assert owner.call("health")["result"]["parked"] == {}
        eventually(lambda: waiting() == 0)
        entries = node.call("log", {"subject": subject})["result"]["entries"]
        assert {entry["origin"] for entry in entries} == {"forget"}


def test_the_journal_of_each_node_is_kept_in_order(cluster):
    await_shares(cluster)
    for node in cluster.nodes:
        eventually(lambda: list((node.folder / "store" / "journal" / "snapshots").glob("*")))


def test_all_of_a_large_lent_subject_is_exported_by_each_node(cluster):
    here = places(cluster, "large")
    lender = cluster.standbys[0]
    subject = here[lender.name][0]
    moves = tool(cluster.owners[0])[1]["log"]["moves"]
    client = Client(lender.socket)
    line = (json.dumps(event("emit", subject), separators=(",", ":")) + "\n").encode()
    client.socket.sendall(line * 100)
    for _ in range(100):
        reply = client.line()
        assert reply["result"]["failures"] == []
    for node in cluster.nodes:
        assert len(node.call("export", {"subject": subject}, seconds=120)["result"]["effects"]) == 900
    assert lender.call("forget", {"subject": subject}, seconds=120)["result"]["forgotten"]["effects"] == 900
    assert tool(cluster.owners[0])[1]["log"]["moves"] == moves, "no connection broke"


def test_clients_notice_nothing_when_a_node_that_evaluates_is_shut_down(cluster):
    here = places(cluster, "ending")
    owner, (leaver, third) = cluster.owners[0], cluster.standbys
    is_over, failures, counts = threading.Event(), [], {}

    def load(node, subject):
        client = Client(node.socket)
        while not is_over.is_set():
            try:
                client.socket.sendall((json.dumps(event("add", subject), separators=(",", ":")) + "\n").encode())
                reply = client.line()
            except OSError:
                reply = None
            if reply is None and node is leaver:
                return
            if reply is None or "error" in reply:
                failures.append(reply)
            counts[subject] = counts.get(subject, 0) + 1

    subjects = {node.name: [subject for name in here for subject in here[name]][index::3] for index, node in enumerate(cluster.nodes)}
    threads = [threading.Thread(target=load, args=(node, subject)) for node in cluster.nodes for subject in subjects[node.name]]
    for thread in threads:
        thread.start()
    eventually(lambda: len(counts) == 24)
    before = dict(counts)
    assert leaver.end(signal.SIGTERM) == 0
    at_end = dict(counts)
    eventually(lambda: all(counts[subject] > at_end[subject] for node in (owner, third) for subject in subjects[node.name]))
    is_over.set()
    for thread in threads:
        thread.join()
    assert failures == [] and before != counts
    for subject, count in counts.items():
        assert owner.call("state", {"subject": subject})["result"]["plugins"]["tally"]["n"] == count
    leaver.start()
    await_shares(cluster)


def park(cluster, subjects, numbers):
    for subject in subjects:
        for number in numbers:
            assert cluster.owners[0].call("event", event("need", subject, number=number)["params"])["result"]["failures"]


def numbers(cluster, subject):
    return cluster.owners[0].call("state", {"subject": subject})["result"]["plugins"]["tally"].get("numbers", [])


def test_parked_events_of_lent_subjects_are_retried_and_dropped_by_each_node(cluster):
    here = places(cluster, "parked")
    for node in cluster.nodes:
        subjects = [here[name][0] for name in here]
        for subject in subjects:
            assert "result" in node.call("event", event("close", subject)["params"])
        park(cluster, subjects, range(4))
        parked = node.call("parked", {"plugin": "tally"})["result"]["parked"]
        assert sorted(entry["subject"] for entry in parked) == sorted(subjects * 4)
        ids = {subject: [entry["id"] for entry in parked if entry["subject"] == subject] for subject in subjects}
        for subject in subjects:
            assert node.call("retry", {"parked": ids[subject][0]})["result"]["failed"] == 1
            assert node.call("drop", {"parked": ids[subject][0]})["result"] == {"dropped": 1}
            assert node.call("drop", {"parked": ids[subject][0]})["error"]["data"]["code"] == "not_found"
            assert "result" in node.call("event", event("open", subject)["params"])
            assert node.call("retry", {"parked": ids[subject][1]})["result"]["succeeded"] == 1
            assert numbers(cluster, subject) == [1]
        await_shares(cluster)
        assert node.call("retry", {"plugin": "tally"})["result"]["succeeded"] == 6
        assert [numbers(cluster, subject) for subject in subjects] == [[1, 2, 3]] * 3
        for subject in subjects:
            assert "result" in node.call("event", event("close", subject)["params"])
        await_shares(cluster)
        park(cluster, subjects, range(2))
        assert node.call("drop", {"plugin": "tally"})["result"] == {"dropped": 6}
        assert node.call("parked")["result"]["parked"] == []
        assert cluster.owners[0].call("health")["result"]["parked"] == {}


def test_effects_of_lent_subjects_are_sent_again_and_dropped_by_each_node(cluster, receiver):
    here = places(cluster, "refused")
    subjects = [here[name][0] for name in here]
    for node in cluster.nodes:
        receiver.takes = False
        await_shares(cluster)
        for subject in subjects:
            for _ in range(3):
                assert "result" in node.call("event", event("tell", subject)["params"])
        failed = lambda: node.call("effects", {"sink": "picky", "status": "failed"})["result"]["effects"]  # noqa: E731
        eventually(lambda: len(failed()) == 9)
        first = {subject: next(effect for effect in failed() if effect["subject"] == subject) for subject in subjects}
        await_shares(cluster)
        for effect in first.values():
            assert node.call("drop_effects", {"id": effect["id"]})["result"] == {"dropped": 1}
            assert node.call("effect", {"id": effect["id"]})["error"]["data"]["code"] == "not_found"
        again = failed()[0]
        receiver.takes, receiver.taken = True, []
        assert node.call("resend", {"keys": [again["key"]]})["result"] == {"resent": 1}
        eventually(lambda: receiver.taken == [again["id"]])
        await_shares(cluster)
        left = [effect["id"] for effect in failed()]
        assert len(left) == 5
        assert node.call("resend", {"sink": "picky", "status": "failed"})["result"] == {"resent": 5}
        eventually(lambda: sorted(receiver.taken) == sorted([again["id"], *left]))
        eventually(lambda: node.call("effects")["result"]["effects"] == [])


def test_subjects_stay_lent_while_a_receiver_refuses_effects(cluster, receiver):
    here = places(cluster, "lent")
    receiver.takes = False
    owner = await_shares(cluster)
    count, lent = 160, []
    for _ in range(count):
        assert "result" in owner.call("event", event("tell", here[owner.name][0])["params"])
        lent.append(sum(node["partitions"] for node in owner.call("cluster")["result"]["nodes"] if node["role"] != "owner"))
        time.sleep(0.025)  # one effect after the other is given up
    assert sum(lent) / count > 85, f"half of what is usually lent; {lent}"
    eventually(lambda: owner.call("health")["result"]["sinks"]["picky"]["given_up"] == count)
    await_shares(cluster)
    receiver.takes = True
    eventually(lambda: len(owner.call("effects", {"sink": "picky", "status": "failed", "limit": 1000})["result"]["effects"]) == count)
    assert owner.call("resend", {"sink": "picky", "status": "failed"})["result"] == {"resent": count}
    eventually(lambda: owner.call("effects", {"sink": "picky"})["result"]["effects"] == [])


@pytest.mark.parametrize("killed", ["asked", "other", "owner"])
def test_a_parked_event_is_retried_once_whatever_is_killed_meanwhile(cluster, killed):
    subjects = sum(places(cluster, f"once-{killed}").values(), [])
    owner, (asked, other) = cluster.owners[0], cluster.standbys
    park(cluster, subjects, range(20))
    for subject in subjects:
        assert "result" in owner.call("event", event("open", subject)["params"])
    await_shares(cluster)
    victim = {"asked": asked, "other": other, "owner": owner}[killed]
    asking = threading.Thread(target=asked.call, args=("retry", {"plugin": "tally"}, 60))
    asking.start()
    eventually(lambda: any(numbers(cluster, subject) for subject in subjects))
    victim.end(signal.SIGKILL)
    asking.join()
    victim.start()
    await_shares(cluster)
    assert asked.call("retry", {"plugin": "tally"})["result"]["failed"] == 0
    assert [numbers(cluster, subject) for subject in subjects] == [list(range(20))] * len(subjects)
    assert asked.call("parked")["result"]["parked"] == []
