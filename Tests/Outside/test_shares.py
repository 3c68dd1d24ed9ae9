"""Nodes that evaluate for the owner of the log: requests keep their order, and nothing is lost, doubled or stale when such a node goes."""

import ctypes.util
import json
import random
import signal

import pytest

from daemon import eventually
from test_nodes import TALLY, Client, Cluster, Load, shares, tool
from throwaway_postgres import is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None,
    reason="postgresql-15 or libpq5 is not installed",
)

SUBJECTS = 24


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory)
    for node in cluster.nodes:
        node.write_rules(TALLY.replace("  end,", '    decide("position", #state.numbers)\n  end,'))
    assert "result" in cluster.owners[0].call("reload")
    yield cluster
    cluster.stop()


def await_shares(cluster):
    """Waits until the nodes have an equal part each; gives the owner."""
    eventually(lambda: len(cluster.owners) == 1 and len(cluster.standbys) == 2, seconds=60)
    owner = cluster.owners[0]
    even = {node.name: 86 if node is owner else 85 for node in cluster.nodes}
    eventually(lambda: shares(owner) == even, seconds=60)
    return owner


def add(subject, number):
    params = {"type": "tally.add", "subject": subject, "id": str(number), "source": "shares", "data": {"number": number}}
    return {"jsonrpc": "2.0", "id": f"{subject} {number}", "method": "event", "params": params}


def state(subject):
    return {"jsonrpc": "2.0", "id": f"{subject} state", "method": "state", "params": {"subject": subject}}


def numbers(reply):
    if reply.get("error", {}).get("data", {}).get("code") == "not_found":
        return []
    return reply["result"]["plugins"].get("tally", {}).get("numbers", [])


def test_requests_of_a_connection_keep_their_order_in_every_form(cluster):
    owner = await_shares(cluster)
    choice = random.Random(5)
    for node in cluster.nodes:
        client = Client(node.socket)
        subjects = [f"order-{node.name}-{number}" for number in range(SUBJECTS)]
        sent, expected, lines = dict.fromkeys(subjects, 0), {}, []

        def request():
            subject = choice.choice(subjects)
            if choice.random() < 0.1:
                read = {**state(subject), "id": f"{subject} state {len(expected)}"}
                expected[read["id"]] = sent[subject]
                return read
            sent[subject] += 1
            return add(subject, sent[subject])

        for _ in range(1200):
            form = choice.random()
            if form < 0.7:
                lines.append(json.dumps(request(), separators=(",", ":")))  # its subject is found without parsing
            elif form < 0.9:
                lines.append(json.dumps(dict(reversed(request().items()))))
            else:
                lines.append(json.dumps([request() for _ in range(3)]))
        moves = 0
        for start in range(0, len(lines), 300):
            client.socket.sendall("".join(f"{line}\n" for line in lines[start : start + 300]).encode())
            if moves < 2:
                assert tool(cluster.nodes[moves], "rebalance")[0] == 0, "partitions move while requests are under way"
                moves += 1
            for _ in lines[start : start + 300]:
                reply = client.line()
                for one in reply if isinstance(reply, list) else [reply]:
                    if one["id"] in expected:
                        assert numbers(one) == list(range(1, expected[one["id"]] + 1))
                    else:
                        assert "result" in one, one
        for subject in subjects:
            assert numbers(owner.call("state", {"subject": subject})) == list(range(1, sent[subject] + 1))
        client.socket.close()


def test_nothing_is_lost_when_an_evaluating_follower_is_killed(cluster):
    owner = await_shares(cluster)
    load = Load(cluster.nodes, count=SUBJECTS)
    load.go_on(3)
    victim, other = cluster.standbys
    victim.end(signal.SIGKILL)
    load.go_on(3)  # all subjects are evaluated again
    eventually(lambda: shares(owner).get(other.name) == 128, seconds=60)
    victim.start()
    assert await_shares(cluster) is owner
    load.go_on(3)
    load.check(owner)


def test_a_follower_that_stood_still_answers_no_read_of_the_past(cluster):
    owner = await_shares(cluster)
    follower = cluster.standbys[0]
    subjects = [f"still-{number}" for number in range(SUBJECTS)]
    for subject in subjects:
        assert "result" in owner.call("event", add(subject, 1)["params"])
    # A read, and an event that is only tried out and says what it would do.
    readers = [Client(follower.socket) for _ in subjects]
    for reader, subject in zip(readers, subjects):
        assert numbers(reader.call("state", {"subject": subject})) == [1]
    follower.process.send_signal(signal.SIGSTOP)
    try:
        for reader, subject in zip(readers, subjects):
            reader.send({"id": 2, "method": "state", "params": {"subject": subject}})
            tried = {**add(subject, 3)["params"], "dryrun": True}
            reader.socket.sendall(json.dumps({**add(subject, 3), "params": tried}, separators=(",", ":")).encode() + b"\n")
        for subject in subjects:
            event = add(subject, 2)["params"]
            eventually(lambda event=event: "result" in owner.call("event", event), seconds=60)
    finally:
        follower.process.send_signal(signal.SIGCONT)
    for reader, subject in zip(readers, subjects):
        for _ in range(2):
            reply = reader.line()
            if "error" in reply:
                assert reply["error"]["data"]["code"] == "unavailable"
            elif "plugins" in reply["result"]:
                assert numbers(reply) == [1, 2]
            else:
                assert reply["result"]["decisions"]["tally"]["position"] == 3
        reader.socket.close()
    await_shares(cluster)
    for subject in subjects:
        assert numbers(follower.call("state", {"subject": subject})) == [1, 2]


def test_nodes_that_are_not_to_share_do_not(tmp_path_factory):
    cluster = Cluster(tmp_path_factory, names="ab", share=False)
    try:
        owner, follower = cluster.owners[0], cluster.standbys[0]
        for subject in (f"alone-{number}" for number in range(8)):
            assert "result" in follower.call("event", add(subject, 1)["params"])
            assert numbers(owner.call("state", {"subject": subject})) == [1]
        eventually(lambda: shares(owner) == {owner.name: 256, follower.name: 0})
        code, _, problem = tool(owner, "rebalance")
        assert code == 1 and "'cluster.share' is false" in problem
        assert "evaluates for" not in owner.log + follower.log and "can't evaluate" not in follower.log
    finally:
        cluster.stop()
