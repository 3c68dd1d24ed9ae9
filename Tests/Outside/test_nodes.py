"""Nodes of ruled over one database: one owns the log of commits, the others follow, and take over when it dies. Nothing is lost or done twice."""

import contextlib
import ctypes.util
import fcntl
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import termios
import threading
import time

import httpx
import pytest

from daemon import PROGRAMS, ROOT, eventually, free_port, hurry, threads, web_client
from test_metrics import expressions, names, samples
from throwaway_postgres import Postgres, is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None,
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


class Database(Postgres):
    """A PostgreSQL server in a folder of its own, on a Unix socket."""

    def __init__(self):
        super().__init__(tempfile.mkdtemp(prefix="ruled-db-"))

    def stop(self):
        super().stop(signal.SIGQUIT)


def make_certificates(folder, names):
    """Makes an authority in a folder, and a certificate for each node."""
    subprocess.run(
        [ROOT / "examples" / "cluster" / "make-certificates", folder, *[f"{name}=127.0.0.1" for name in names]], check=True
    )


class Node:
    """A node of a cluster, which may be killed, stopped and started again."""

    def __init__(self, name, database, folder, certificates=None, **options):
        self.name, self.folder = name, folder
        self.port, self.web_port = free_port(), free_port()
        self.socket = str(folder / "s")
        (folder / "rules" / "tally").mkdir(parents=True)
        (folder / "rules" / "tally" / "plugin.lua").write_text(TALLY)
        (folder / "token").write_text("secret")
        durability = options.get("durability", "primary")
        more = f', snapshots = "{options["snapshots"]}", snapshot_every = "1s"' if "snapshots" in options else ""
        if "s3" in options:
            more += f", s3 = {{ {options['s3']} }}"
        tunnel = ""
        if certificates:
            tls = f"{certificates}/{options.get('certificate_of', name)}"
            tunnel = f', listen = "127.0.0.1:{self.port}", certificate = "{tls}/node.pem", key = "{tls}/node.key"'
            tunnel += f', authority = "{certificates}/authority.pem"'
        (folder / "ruled.conf.lua").write_text(
            f'socket = "{self.socket}"\nrules = "{folder}/rules"\nstore = "{database.url}"\ndurability = "{durability}"\nworkers = 2\n'
            f'cluster = {{ node = "{name}", address = "{self.socket}", folder = "{folder}/store", lease = "2s"{tunnel}{more} }}\n'
            f'http = {{ listen = "127.0.0.1:{self.web_port}", token_file = "{folder}/token", role = "writer" }}\n'
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
    def health(self):
        """What the node tells of itself, once it answers: one that changes its role closes its connections."""
        replies = []
        eventually(lambda: replies.append(self.call("health")) or replies[-1])
        return replies[-1]["result"]

    @property
    def problems(self):
        return " ".join(self.health["problems"])

    def add(self, number=1, subject="x"):
        """What is decided on an event."""
        reply = self.call("event", {"type": "tally.add", "subject": subject, "data": {"number": number}})
        return reply["result"]["decisions"]["tally"]["kind"]

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def call(self, method, params=None, seconds=60):
        """The reply to a request; None if there is none."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(seconds)
                connection.connect(self.socket)
                request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile() as lines:
                    line = lines.readline()
                return json.loads(line) if line.endswith("\n") else None
        except OSError:
            return None

    @property
    def status(self):
        reply = self.call("health")
        return reply["result"]["status"] if reply else None

    @property
    def is_owner(self):
        return self.status == "ready"

    def end(self, number):
        """Sends a signal, and gives the exit code once the process has ended."""
        self.process.send_signal(number)
        return self.process.wait(180)


class Cluster:
    """A database with three nodes."""

    def __init__(self, folders, names="abc", part=None, tunnels=True, **options):
        self.database = Database()
        if part:
            self.divide(folders, part)
        certificates = folders.mktemp("tls") if tunnels else None
        if tunnels:
            make_certificates(certificates, names)
        self.nodes = [Node(name, self.database, folders.mktemp(name), certificates, **options) for name in names]
        try:
            eventually(lambda: len(self.owners) == 1 and len(self.standbys) == len(self.nodes) - 1)
            if tunnels:
                eventually(lambda: all(node.health["owner_reachable"] for node in self.standbys))
        except BaseException:
            self.stop()
            raise

    def divide(self, folders, part):
        """Gives the log, which is empty, parts of so many batches."""
        maker = Node("maker", self.database, folders.mktemp("maker"))
        eventually(lambda: maker.is_owner)
        maker.end(signal.SIGTERM)
        for name in self.database.sql("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'ruled.commits'::regclass").split():
            self.database.sql(f"DROP TABLE {name}")
        self.database.sql("UPDATE ruled.logs SET epoch = 0, owner = NULL, incarnation = NULL, sequence = 0, digest = ''")
        self.database.sql(f"UPDATE ruled.cluster SET part = {part}")

    def await_cut(self, sequence):
        """Waits until the log begins after a commit, as two snapshots have it. The threads that write these let all others go first."""

        def is_cut():
            for node in self.nodes:
                hurry(node.process.pid, "ruled-snapshot")
            return int(self.database.sql("SELECT coalesce(min(sequence), 0) FROM ruled.commits")) > sequence

        eventually(is_cut)

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
    """Clients that number the events of a subject each, and repeat each event until it is acknowledged.

    With a pause in seconds behind each event they leave snapshots a processor, and the store remains small.
    """

    def __init__(self, nodes, count=4, pause=0):
        self.nodes, self.pause, self.is_ending = nodes, pause, threading.Event()
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
                time.sleep(self.pause)
            else:
                preferred = (preferred + 1) % len(self.nodes)
                time.sleep(0.02)

    def go_on(self, more=20):
        """Waits until so many more events of each client are acknowledged."""
        wanted = [count + more for count in self.acknowledged]
        eventually(lambda: all(count >= least for count, least in zip(self.acknowledged, wanted)))

    def check(self, node):
        """Ends the load; the node has what was acknowledged, in its order, once, and at most the event that was under way."""
        self.is_ending.set()
        for thread in self.threads:
            thread.join()
        for subject, count in enumerate(self.acknowledged):
            reply = node.call("state", {"subject": f"s:{subject}"})
            assert "result" in reply, reply
            numbers = reply["result"]["plugins"]["tally"]["numbers"]
            assert numbers == list(range(len(numbers)))
            assert len(numbers) in (count, count + 1)


@pytest.fixture
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory)
    yield cluster
    cluster.stop()


SCRIPT = [
    {"id": 1, "method": "event", "params": {"type": "tally.add", "subject": "t:1", "id": "e1", "source": "s", "data": {"number": 1}}},
    {"id": "two\\u0022", "method": "state", "params": {"subject": "t:1"}},
    {"method": "event", "params": {"type": "tally.add", "subject": "t:1", "id": "e2", "source": "s", "data": {"number": 2}}},
    {"id": 3.50, "method": "state", "params": {"subject": "t:1"}},
    [
        {"jsonrpc": "2.0", "id": "a", "method": "event", "params": {"type": "tally.add", "subject": "t:2", "id": "e3", "data": {"number": 3}}},
        {"jsonrpc": "2.0", "method": "event", "params": {"type": "tally.add", "subject": "t:2", "id": "e4", "data": {"number": 4}}},
        {"jsonrpc": "2.0", "id": {}, "method": "state"},
        {"jsonrpc": "2.0", "id": "b", "method": "query", "params": {"subject": "t:2", "name": "nothing"}},
    ],
    [],
    {"id": 5, "method": "query", "params": {"subject": "t:1", "name": "count"}},
    {"id": 6, "method": "event", "params": {"type": 7}},
    {"id": 7, "method": "nonsense"},
    {"id": None, "method": "state", "params": {"subject": "t:3"}},
    {"id": 8, "method": "counters"},
    {"id": 9, "method": "rules"},
    {"id": 10, "method": "subjects", "params": {"prefix": "t:"}},
    "no JSON",
    {"id": 11, "method": "event", "params": {"type": "tally.add", "subject": "t:1", "data": {"text": "x" * 300_000, "number": 5}, "dryrun": True, "id": "e5"}},
    {"id": 12, "method": "forget", "params": {"subject": "t:1"}},
    {"id": 13, "method": "forget", "params": {"subject": "t:2"}},
]


def lines_of(script):
    return [
        json.dumps(step if isinstance(step, list) or isinstance(step, str) else {"jsonrpc": "2.0", **step}).encode() + b"\n"
        for step in script
    ]


class Client:
    """A connection that speaks lines."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(180)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, *requests):
        for line in lines_of(requests):
            self.socket.sendall(line)

    def is_read(self):
        """Whether the other end has read all that was sent."""
        unread = fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4))
        return unread == bytes(4)

    def line(self):
        """The next line; None at the end."""
        return json.loads(self.file.readline() or "null")

    def call(self, method, params=None, id=1):
        self.send({"id": id, "method": method, "params": params or {}})
        return self.line()


def play(path, lines, at_once=False):
    """What a daemon answers to lines, byte for byte, but for what differs each time."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(180)
        connection.connect(path)
        answers = b""
        with connection.makefile("rb") as replies:
            if at_once:
                connection.sendall(b"".join(lines))
                connection.shutdown(socket.SHUT_WR)
                answers = b"".join(sorted(replies.readlines()))
            else:
                for line in lines:
                    connection.sendall(line)
                    request = json.loads(line) if line[:1] in b"{[" else None
                    if not isinstance(request, dict) or "id" in request:
                        answers += replies.readline()
                connection.shutdown(socket.SHUT_WR)
                assert replies.readline() == b"", "the connection ends after the last answer"
    return re.sub(rb'"loaded_at":"[^"]*"|"runs":\d+|"p\d\d_us":[0-9.]+', b"", answers)


def test_clients_of_each_node_get_the_replies_of_the_owner(cluster):
    lines = lines_of(SCRIPT)
    expected = play(cluster.owners[0].socket, lines)
    assert expected.count(b"\n") == len(SCRIPT) - 1 and b'"numbers":[1,2]' in expected
    for node in cluster.standbys:
        assert play(node.socket, lines) == expected
    at_once = play(cluster.owners[0].socket, lines[:1] + lines[5:7] + lines[-2:], at_once=True)
    for node in cluster.standbys:
        assert play(node.socket, lines[:1] + lines[5:7] + lines[-2:], at_once=True) == at_once


def test_large_requests_and_replies_pass_through_each_node(cluster):
    numbers = [str(number) + "x" * 20_000 for number in range(10)]
    for node in cluster.standbys:
        client = Client(node.socket)
        for number in numbers:
            data = {"number": number, "ignored": "y" * 500_000}
            client.send({"id": number, "method": "event", "params": {"type": "tally.add", "subject": node.name, "data": data}})
        assert [client.line()["id"] for _ in numbers] == numbers
        for _ in range(20):
            client.send({"id": 1, "method": "state", "params": {"subject": node.name}})
        for _ in range(20):
            assert client.line()["result"]["plugins"]["tally"]["numbers"] == numbers
        client.send({"id": 1, "method": "event", "params": {"data": "x" * (2 << 20)}}, {"id": 2, "method": "query"})
        assert client.line()["error"]["data"]["code"] == "too_large"
        assert client.line()["id"] == 2


def test_requests_of_a_connection_keep_their_order_in_every_form(cluster):
    choice = random.Random(5)
    for node in cluster.nodes:
        client = Client(node.socket)
        sent, expected, lines = dict.fromkeys([f"order-{node.name}-{number}" for number in range(8)], 0), {}, []

        def request():
            subject = choice.choice(list(sent))
            if choice.random() < 0.1:
                read = {"jsonrpc": "2.0", "id": f"{subject} state {len(expected)}", "method": "state", "params": {"subject": subject}}
                expected[read["id"]] = sent[subject]
                return read
            sent[subject] += 1
            params = {"type": "tally.add", "subject": subject, "data": {"number": sent[subject]}}
            return {"jsonrpc": "2.0", "id": f"{subject} {sent[subject]}", "method": "event", "params": params}

        for _ in range(600):
            form = choice.random()
            if form < 0.7:
                lines.append(json.dumps(request(), separators=(",", ":")))  # its subject is found without parsing
            elif form < 0.9:
                lines.append(json.dumps(dict(reversed(request().items()))))
            else:
                lines.append(json.dumps([request() for _ in range(3)]))
        client.socket.sendall("".join(f"{line}\n" for line in lines).encode())
        for _ in lines:
            reply = client.line()
            for one in reply if isinstance(reply, list) else [reply]:
                if one["id"] not in expected:
                    assert "result" in one, one
                elif count := expected[one["id"]]:
                    assert one["result"]["plugins"]["tally"]["numbers"] == list(range(1, count + 1))
                else:
                    assert one["error"]["data"]["code"] == "not_found"
        client.socket.close()


def test_a_follower_that_is_shut_down_answers_what_it_has_and_others_notice_nothing(cluster):
    owner, (leaver, other) = cluster.owners[0], cluster.standbys
    here = Client(leaver.socket)
    event = {"type": "tally.add", "subject": "here", "data": {"number": 1}}
    here.send(*[{"id": number, "method": "event", "params": event} for number in range(50)])
    assert "result" in here.line(), "the owner has begun"
    load = Load([owner, other])
    load.go_on()
    assert leaver.end(signal.SIGTERM) == 0
    replies = [here.line() for _ in range(49)]
    assert all("result" in reply for reply in replies) and here.line() is None
    assert owner.call("state", {"subject": "here"})["result"]["version"] == 50
    load.go_on()
    load.check(owner)


def test_each_node_takes_snapshots_for_its_journal(cluster):
    for node in cluster.nodes:
        eventually(lambda: list((node.folder / "store" / "journal" / "snapshots").glob("*")))


def test_a_node_that_follows_tells_of_itself(cluster):
    owner = cluster.owners[0]
    for node in cluster.standbys:
        # A node that has just started may not have asked yet who owns the log, or not have reached it.
        eventually(lambda: node.health["owner_reachable"])
        health = node.health
        assert health["owner"] == owner.name and health["owner_reachable"] and health["problems"] == []
        with web_client(node.socket) as web:
            for path, status in [("/livez", 200), ("/readyz", 200), ("/healthz", 200), ("/metrics", 200)]:
                reply = web.get(path)
                assert reply.status_code == status and reply.headers["connection"] == "close"
            assert web.get("/healthz").json()["node"] == node.name
            assert "ruled_cluster_owner_reachable 1" in web.get("/metrics").text
        assert httpx.get(f"http://127.0.0.1:{node.web_port}/metrics", timeout=180).status_code == 401
        assert httpx.get(f"http://127.0.0.1:{node.web_port}/readyz", timeout=180).status_code == 200


def test_http_passes_through_each_node(cluster):
    event = {"type": "tally.add", "subject": "h:1", "id": "1", "data": {"number": 1}}
    with web_client(cluster.owners[0].socket) as owner:
        first = owner.post("/v1/events", json=event)
        again = owner.post("/v1/events", json=event)
        assert first.json()["version"] == 1 and again.json()["duplicate"]
        for node in cluster.standbys:
            with web_client(node.socket) as web:
                for path in ["/v1/subjects/h:1", "/v1/subjects/none", "/v1/nothing", "/openapi.json"]:
                    expected, reply = owner.get(path), web.get(path)
                    assert reply.content == expected.content and reply.status_code == expected.status_code
                    assert {**reply.headers, "date": ""} == {**expected.headers, "date": ""}
                assert web.post("/v1/events", json=event).content == again.content
                assert web.post("/v1/events", content=b"{" + b"x" * (3 << 20)).status_code == 413
            # The owner's token and its role decide about clients of the loopback listener.
            url = f"http://127.0.0.1:{node.web_port}/v1/subjects/h:1"
            assert httpx.get(url, timeout=180).status_code == 401
            assert httpx.get(url, headers={"authorization": "Bearer secret"}, timeout=180).content == owner.get("/v1/subjects/h:1").content
            assert httpx.delete(url, headers={"authorization": "Bearer secret"}, timeout=180).status_code == 403


def test_watchers_and_event_streams_pass_through_each_node(cluster):
    owner = Client(cluster.owners[0].socket)
    for node in cluster.standbys:
        watcher, stream = Client(node.socket), web_client(node.socket)
        assert watcher.call("watch", {"prefix": f"w:{node.name}"})["result"]["watch"] > 0
        with stream.stream("GET", f"/v1/watch?subject=w:{node.name}") as events:
            owner.call("event", {"type": "tally.add", "subject": f"w:{node.name}", "data": {"number": 1}})
            change = watcher.line()
            assert change["method"] == "changed" and change["params"]["subject"] == f"w:{node.name}"
            assert next(line for line in events.iter_lines() if line.startswith("data:")).count(f"w:{node.name}") == 1


class Watcher:
    """A watch that connects again, to one node after the other, and goes on after the last change that it got."""

    def __init__(self, nodes):
        self.nodes, self.after, self.missed, self.versions = nodes, 0, 0, {}
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while not self.is_ending.wait(0.02):
            number += 1
            try:
                client = Client(self.nodes[number % len(self.nodes)].socket)
                while "result" in client.call("watch", {"after": self.after}) and not self.is_ending.is_set():
                    while line := client.line():
                        self.note(line)
                    break
            except (OSError, TypeError, ValueError):
                pass

    def note(self, line):
        if line["method"] == "lagged":
            self.missed += line["params"]["missed"]
            return
        change = line["params"]
        assert change["sequence"] > self.after
        self.after = change["sequence"]
        self.versions.setdefault(change["subject"], []).append(change["version"])

    def check(self, load):
        """Each acknowledged event was seen once, in order."""
        for subject, count in enumerate(load.acknowledged):
            eventually(lambda: len(self.versions.get(f"s:{subject}", [])) >= count)  # noqa: B023
            versions = self.versions[f"s:{subject}"]
            assert versions == list(range(1, len(versions) + 1))
        assert self.missed == 0
        self.is_ending.set()


def test_a_watch_goes_on_without_a_gap_when_the_owner_is_killed_stopped_or_drained(cluster):
    load, watcher = Load(cluster.nodes), Watcher(cluster.nodes)
    load.go_on()
    for leave in ["kill", "stop", "drain"] * 2:
        owner = cluster.owners[0]
        if leave == "drain":
            assert tool(cluster.standbys[0], "drain", owner.name)[0] == 0
        else:
            owner.end(signal.SIGKILL if leave == "kill" else signal.SIGTERM)
            owner.start()
        eventually(lambda: len(cluster.owners) == 1 and len(cluster.standbys) == 2)
        if leave == "drain":
            assert tool(owner, "undrain", owner.name)[0] == 0
        load.go_on()
    load.check(cluster.owners[0])
    watcher.check(load)
    late = Watcher(cluster.nodes)
    late.check(load)


@pytest.mark.skipif(os.getuid() != 0, reason="other users take root")
def test_a_client_has_the_rights_that_its_node_gives_it(cluster):
    for node in cluster.nodes:
        for path in [node.folder, *node.folder.parents]:
            if path.owner() == "root" and path.stat().st_mode & 0o077 == 0:
                path.chmod(0o711)
        os.chmod(node.socket, 0o666)
        stranger = connect_as_nobody(node.socket)
        for method in ["counters", "lease", "reload"]:
            assert stranger.call(method)["error"]["data"]["code"] == "forbidden"
        # A client can't say of itself who it is.
        stranger.send({"id": 1, "method": "counters", "admin": True, "rights": 3})
        assert stranger.line()["error"]["data"]["code"] == "forbidden"
        assert "result" in stranger.call("event", {"type": "tally.add", "subject": "n:1", "data": {"number": 1}})
        assert "result" in node.call("counters") and "result" in node.call("reload")
        web = connect_as_nobody(node.socket)
        web.socket.sendall(b"GET /v1/counters HTTP/1.1\r\nhost: a\r\n\r\n")
        assert web.file.readline().startswith(b"HTTP/1.1 403")


def connect_as_nobody(path):
    """A connection whose other end is neither root nor the daemon's user."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    try:
        return Client(path)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def test_the_tool_works_on_each_node(cluster):
    for node in cluster.standbys:
        environment = {**os.environ, "RULED_SOCKET": node.socket}
        for arguments in [["event", "tally.add", f"r:{node.name}", "number=1"], ["state", f"r:{node.name}"], ["rules"], ["counters"]]:
            result = subprocess.run([PROGRAMS / "rulectl", *arguments], env=environment, capture_output=True, text=True)
            assert result.returncode == 0, result.stdout + result.stderr


def test_requests_under_way_are_in_doubt_when_the_owner_dies_and_the_client_goes_on(cluster):
    owner, follower = cluster.owners[0], cluster.standbys[0]
    client, watcher, web = Client(follower.socket), Client(follower.socket), Client(follower.socket)
    assert "result" in client.call("event", {"type": "tally.add", "subject": "d:1", "data": {"number": 0}})
    assert "result" in watcher.call("watch", {"prefix": "d:"})
    web.socket.sendall(b"GET /v1/watch HTTP/1.1\r\nhost: a\r\n\r\n")
    assert web.file.readline().startswith(b"HTTP/1.1 200")
    owner.process.send_signal(signal.SIGSTOP)
    client.send(
        {"id": "x", "method": "event", "params": {"type": "tally.add", "subject": "d:1", "id": "1", "source": "d", "data": {"number": 1}}},
        {"method": "event", "params": {"type": "tally.add", "subject": "d:2", "data": {"number": 1}}},
        [{"jsonrpc": "2.0", "id": 7, "method": "counters"}, {"jsonrpc": "2.0", "id": 8, "method": "counters"}],
    )
    eventually(client.is_read)
    owner.end(signal.SIGKILL)
    first, batch = client.line(), client.line()
    assert first["id"] == "x" and first["error"]["data"]["code"] == "unavailable" and "may have taken effect" in first["error"]["message"]
    assert [answer["id"] for answer in batch] == [7, 8] and {answer["error"]["data"]["code"] for answer in batch} == {"unavailable"}
    assert watcher.line() is None, "a stream with a hole ends"
    while web.file.readline():
        pass
    eventually(lambda: len(cluster.owners) == 1)
    if follower.status == "standby":
        params = {"type": "tally.add", "subject": "d:1", "id": "1", "source": "d", "data": {"number": 1}}
        replies = []
        eventually(lambda: replies.append(client.call("event", params)) or "result" in replies[-1])
        assert client.call("state", {"subject": "d:1"})["result"]["plugins"]["tally"]["numbers"] == [0, 1]


def test_a_node_that_the_owner_does_not_trust_says_so(cluster, tmp_path_factory):
    foreign = tmp_path_factory.mktemp("foreign")
    make_certificates(foreign, "d")
    stranger = Node("d", cluster.database, tmp_path_factory.mktemp("d"), foreign)
    cluster.nodes.append(stranger)
    eventually(lambda: stranger.status == "standby")
    eventually(lambda: any("certificate" in problem for problem in stranger.health["problems"]))
    assert not stranger.health["owner_reachable"]
    error = stranger.call("state", {"subject": "s:1"})["error"]
    assert error["data"]["code"] == "unavailable" and error["data"]["retry_after_ms"] > 0
    assert "certificate" in error["message"]
    with web_client(stranger.socket) as web:
        assert web.get("/livez").status_code == 200 and web.get("/readyz").status_code == 503
        assert web.get("/v1/subjects").status_code == 503
    assert "was refused" in cluster.owners[0].log


def test_strangers_at_the_listener_are_counted_and_fill_no_log(cluster):
    node = cluster.owners[0]
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", node.port)) as stranger:
            stranger.settimeout(180)
            with contextlib.suppress(ConnectionError):
                stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
                while stranger.recv(100):
                    pass
    eventually(lambda: metrics(node)["ruled_cluster_connections_refused_total"] >= 200)
    lines = node.log.count("which is to be a node, was refused")
    assert 1 <= lines <= 3 and metrics(node)["ruled_log_lines_suppressed_total"] >= 200 - lines


def test_a_certificate_of_another_node_is_refused_at_the_start(tmp_path_factory):
    database = Database()
    try:
        certificates = tmp_path_factory.mktemp("tls")
        make_certificates(certificates, "ab")
        node = Node("a", database, tmp_path_factory.mktemp("a"), certificates, certificate_of="b")
        assert node.process.wait(180) == 2
        assert "is not for node a" in node.log
        check = subprocess.run([PROGRAMS / "ruled", "--config", node.folder / "ruled.conf.lua", "--check"], capture_output=True, text=True)
        assert check.returncode == 1 and "is not for node a" in check.stderr
    finally:
        database.stop()
        shutil.rmtree(database.folder)


def test_without_certificates_a_standby_names_the_owner(tmp_path_factory):
    cluster = Cluster(tmp_path_factory, tunnels=False)
    try:
        owner = cluster.owners[0]
        for node in cluster.standbys:
            error = node.call("event", {"type": "tally.add", "subject": "s:1", "data": {"number": 1}})["error"]
            assert error["data"]["code"] == "unavailable"
            assert error["data"]["owner"] == owner.name and error["data"]["owner_address"] == owner.socket
            with web_client(node.socket) as web:
                reply = web.get("/v1/subjects")
                assert reply.status_code == 503 and reply.json()["data"]["owner"] == owner.name
                assert web.get("/livez").status_code == 200 and web.get("/readyz").status_code == 503
            assert "ruled-peers" not in threads(node.process.pid).values()
    finally:
        cluster.stop()


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_nothing_is_lost_or_done_twice_when_the_owner_goes(cluster, fault):
    load = Load(cluster.nodes)
    for _ in range(2):
        load.go_on()
        owner = cluster.owners[0]
        owner.process.send_signal(fault)
        if fault != signal.SIGSTOP:
            owner.process.wait(180)
        load.go_on()
        if fault == signal.SIGSTOP:
            owner.process.send_signal(signal.SIGCONT)
            assert owner.process.wait(180) == 2, "a fenced owner ends, so that its service is started again"
            assert "another node has taken the log" in owner.log
        owner.start()
        eventually(lambda: len(cluster.standbys) == 2)
    load.check(cluster.owners[0])


def test_an_owner_that_stood_still_with_nothing_to_do_notices_that_it_was_replaced(cluster):
    owner = cluster.owners[0]
    owner.process.send_signal(signal.SIGSTOP)
    eventually(lambda: any(node is not owner and node.is_owner for node in cluster.nodes))
    owner.process.send_signal(signal.SIGCONT)
    assert owner.process.wait(180) == 2
    assert "another node has taken the log" in owner.log


def test_a_read_that_came_while_the_owner_stood_still_is_not_of_the_past(cluster):
    owner = cluster.owners[0]
    event = {"type": "tally.add", "subject": "p", "id": "1", "source": "p", "data": {"number": 1}}
    assert "result" in owner.call("event", event)
    past = {"state": {"subject": "p"}, "log": {}, "explain_past": {"subject": "p", "id": "1"}, "journal": {}, "effects": {}, "revisions": {}}
    reads = [*past.items(), ("state", {"subject": "p", "version": 1}), ("event", event), ("watch", {"after": 0})]
    readers = [Client(owner.socket) for _ in reads]
    for reader, (method, params) in zip(readers, reads):
        assert "result" in reader.call(method, params)
    owner.process.send_signal(signal.SIGSTOP)
    eventually(lambda: " T " in pathlib.Path(f"/proc/{owner.process.pid}/stat").read_text())
    for reader, (method, params) in zip(readers, reads):
        reader.send({"id": 2, "method": method, "params": params})
    eventually(lambda: any(node is not owner and node.is_owner for node in cluster.nodes))
    taker = next(node for node in cluster.nodes if node is not owner and node.is_owner)
    assert "result" in taker.call("event", {**event, "id": "2"})
    owner.process.send_signal(signal.SIGCONT)
    for reader, (method, _) in zip(readers, reads):
        line = next(line for line in iter(reader.line, None) if "id" in line)
        assert "error" in line and line["error"]["data"]["code"] == "unavailable", (method, line)


def test_reads_are_answered_while_a_commit_waits_for_the_database(cluster):
    owner, database = cluster.owners[0], cluster.database.process.pid
    readers = [Client(owner.socket) for _ in range(4)]
    os.kill(database, signal.SIGSTOP)  # Its children may end, but no new ones come.
    children = [int(child) for child in subprocess.run(["pgrep", "-P", str(database)], capture_output=True, text=True, check=True).stdout.split()]
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGSTOP)
    try:
        writer = Client(owner.socket)
        writer.send({"id": 1, "method": "event", "params": {"type": "tally.add", "subject": "w", "data": {"number": 1}}})
        for reader in readers:
            answer = reader.call("log")
            assert "result" in answer or answer["error"]["data"]["code"] == "unavailable", "the lease may be over"
        assert not select.select([writer.socket], [], [], 0)[0], "the event still waits"
    finally:
        for process in [*children, database]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def tool(node, *words):
    """What `rulectl cluster` ends with: its code, its answer, and what it complains of."""
    command = [PROGRAMS / "rulectl", "--socket", node.socket, "cluster", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_a_drained_owner_gives_the_log_up_and_follows(cluster):
    load = Load(cluster.nodes)
    load.go_on()
    for _ in range(2):
        owner = cluster.owners[0]
        code, answer, _ = tool(cluster.standbys[0], "drain", owner.name)
        assert code == 0 and answer["owner"] not in (None, owner.name)
        load.go_on()
        eventually(lambda: owner.status == "standby")
        assert owner.process.poll() is None, "the same process follows"
        for node in cluster.nodes:
            answer = tool(node)[1]
            assert answer["node"] == node.name and answer["log"]["epoch"] >= 2 and answer["database"]["primary"]
            assert {one["name"]: one["drained"] for one in answer["nodes"]} == {n.name: n is owner for n in cluster.nodes}
            assert sorted(one["role"] for one in answer["nodes"]) == ["follower", "follower", "owner"]
        assert tool(owner, "undrain", owner.name)[0] == 0
    load.check(cluster.owners[0])


def test_a_drained_owner_ends_by_a_signal_at_any_time_and_follows_when_started_again(cluster):
    load = Load(cluster.nodes)
    for milliseconds in range(0, 700, 50):
        eventually(lambda: len(cluster.owners) == 1 and len(cluster.standbys) == 2)
        owner, asked = cluster.owners[0], cluster.standbys[0]
        load.go_on()
        assert "result" in asked.call("cluster_drain", {"node": owner.name})
        time.sleep(milliseconds / 1000)
        assert owner.end(signal.SIGTERM) == 0
        owner.start()
        eventually(lambda: owner.status == "standby")
        # A node that becomes the owner closes the connections of its clients.
        eventually(lambda: "result" in (asked.call("cluster_undrain", {"node": owner.name}) or {}))
    load.check(cluster.owners[0])


def test_a_node_that_changes_its_role_can_be_told_to_reload_at_any_time(cluster):
    load = Load(cluster.nodes)
    is_over = threading.Event()

    def hang_up():
        while not is_over.wait(0.003):
            for node in cluster.nodes:
                node.process.send_signal(signal.SIGHUP)

    thread = threading.Thread(target=hang_up)
    thread.start()
    try:
        for _ in range(3):
            load.go_on()
            pairs = []  # a node that reads its rules again is no standby for a moment
            eventually(lambda: pairs.extend(zip(cluster.owners, cluster.standbys)) or pairs)
            owner, asked = pairs[0]
            assert tool(asked, "drain", owner.name)[0] == 0
            eventually(lambda owner=owner: owner.status == "standby")
            assert tool(owner, "undrain", owner.name)[0] == 0
    finally:
        is_over.set()
        thread.join()
    assert [node.process.poll() for node in cluster.nodes] == [None] * 3, "nobody ended"
    load.check(cluster.owners[0])


def test_a_drained_node_does_not_take_over(cluster):
    first, second = cluster.standbys
    assert tool(first, "drain", first.name)[0] == 0
    owner = cluster.owners[0]
    owner.end(signal.SIGKILL)
    eventually(lambda: second.is_owner)
    code, _, problem = tool(first, "drain", second.name)
    assert code != 0 and "nobody could take over" in problem and "--force" in problem
    eventually(lambda: {node["name"]: node["role"] for node in tool(first)[1]["nodes"]}[owner.name] == "gone")
    assert "result" in second.call("cluster_drain", {"node": second.name, "force": True})
    eventually(lambda: "no node is known that owns the log" in first.problems)
    assert first.health["owner"] is None
    second.end(signal.SIGTERM)
    assert tool(first)[0] == 1, "nobody owns the log"
    assert first.status == "standby"
    assert tool(first, "undrain", first.name)[0] == 0
    eventually(lambda: first.is_owner)
    assert tool(first, "drain", "nobody")[2].strip().endswith("lists them")


def test_a_daemon_with_a_store_of_its_own_is_no_cluster(start):
    code, answer, problem = tool(start())
    assert code == 1 and answer is None and problem.strip().endswith("docs/cluster.md says how to set one up")


def read_metrics(node):
    with web_client(node.socket) as web:
        reply = web.get("/metrics")
        assert reply.status_code == 200
        return reply.text


def metrics(node):
    return samples(read_metrics(node))


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
    assert found["ruled_cluster_can_take_over"] == 0
    assert not any("snapshot" in name for name in found), "without cluster.snapshots"
    for node in cluster.standbys:
        eventually(lambda node=node: metrics(node)["ruled_cluster_can_take_over"] == 1)


def test_a_drained_node_and_one_without_links_say_so_in_the_metrics(tmp_path_factory):
    cluster = Cluster(tmp_path_factory, names="ab", tunnels=False)
    try:
        owner, follower = cluster.owners[0], cluster.standbys[0]
        assert "ruled_cluster_owner_reachable" not in metrics(follower)
        for action, value in [("drain", 0), ("undrain", 1)]:
            assert tool(owner, action, follower.name)[0] == 0
            eventually(lambda value=value: metrics(follower)["ruled_cluster_can_take_over"] == value)
            assert metrics(owner)["ruled_cluster_can_take_over"] == 0
    finally:
        cluster.stop()


def test_the_metrics_of_snapshots(tmp_path_factory, tool):
    snapshots = tmp_path_factory.mktemp("snapshots")
    cluster = Cluster(tmp_path_factory, names="ab", snapshots=snapshots)
    try:
        owner, follower = cluster.owners[0], cluster.standbys[0]
        event = {"type": "tally.add", "subject": "x", "data": {"number": 1}}
        assert "result" in owner.call("event", event)
        for node in cluster.nodes:
            eventually(lambda node=node: "ruled_cluster_snapshot_age_seconds" in metrics(node))
            assert metrics(node)["ruled_cluster_snapshot_up"] == 1
        gone = snapshots.rename(f"{snapshots}.gone")
        assert "result" in owner.call("event", event)
        eventually(lambda: metrics(follower)["ruled_cluster_snapshot_up"] == 0)
        assert "mount it" in follower.problems
        eventually(lambda: metrics(follower)["ruled_cluster_snapshot_due_seconds"] > 2)
        assert metrics(follower)["ruled_cluster_snapshot_age_seconds"] > 2
        gone.rename(snapshots)
        for node in cluster.nodes:
            eventually(lambda node=node: metrics(node)["ruled_cluster_snapshot_up"] == 1)
        eventually(lambda: metrics(follower)["ruled_cluster_snapshot_due_seconds"] == 0)

        text = "".join(read_metrics(node) for node in cluster.nodes)
        known = {name.split("{")[0] for name in samples(text)}
        used = set().union(*(names(expression) for expression in expressions() if "_cluster_" in expression))
        assert len(used) >= 10 and used <= known
        for node in cluster.nodes:
            found = subprocess.run([tool("promtool"), "check", "metrics"], input=read_metrics(node), capture_output=True, text=True)
            assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    finally:
        cluster.stop()


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
        load = Load(cluster.nodes, pause=0.02)
        cluster.await_cut(1)
        node = Node("c", cluster.database, tmp_path_factory.mktemp("c"), snapshots=snapshots)
        cluster.nodes.append(node)
        eventually(lambda: node.status == "standby")
        assert "starts from the snapshot" in node.log and "plays back what the log has behind it" in node.log
        load.go_on()
        for other in cluster.nodes[:2]:
            other.end(signal.SIGKILL)
        eventually(lambda: node.is_owner)
        load.go_on()
        watcher = Watcher([node])
        # Three are kept. One more is being written, or not removed yet; while a killed node's lease lasts, so is the one that it was at.
        eventually(lambda: len(list(snapshots.glob("*/*/SNAPSHOT"))) in (3, 4))
        load.check(node)
        watcher.check(load)
    finally:
        cluster.stop()


def test_a_node_that_starts_from_a_snapshot_shows_nobody_who_was_forgotten_meanwhile(tmp_path_factory):
    cluster = Cluster(tmp_path_factory, names="ab", part=20, snapshots=tmp_path_factory.mktemp("snapshots"))
    try:
        owner, away = cluster.owners[0], cluster.standbys[0]
        number = lambda text: int(cluster.database.sql(f"SELECT coalesce({text}, 0)"))
        for subject in ("gone", "stays"):
            assert "result" in owner.call("event", {"type": "tally.add", "subject": subject, "id": "1", "data": {"number": 1}})
        played = number("(SELECT sequence FROM ruled.logs)")
        eventually(lambda: away.health["sequence"] >= played)
        away.end(signal.SIGKILL)
        assert "result" in owner.call("forget", {"subject": "gone"})
        load = Load([owner], pause=0.02)
        cluster.await_cut(played + 2)
        away.start()
        eventually(lambda: away.status == "standby")
        assert "starts from the snapshot" in away.log
        load.go_on()
        owner.end(signal.SIGKILL)
        eventually(lambda: away.is_owner)
        of = lambda subject: {entry["origin"] for entry in away.call("log", {"subject": subject})["result"]["entries"]}
        assert of("gone") <= {"forget"} and of("stays") <= {"client"}
        assert away.call("explain_past", {"subject": "gone", "id": "1"})["error"]["data"]["code"] == "not_found"
        load.nodes = [away]
        load.check(away)
    finally:
        cluster.stop()


def test_a_cluster_goes_back_to_an_earlier_moment_with_its_database(tmp_path_factory):
    cluster = Cluster(tmp_path_factory, snapshots=tmp_path_factory.mktemp("snapshots"))
    try:
        database = cluster.database
        add = lambda node, number: node.call(
            "event", {"type": "tally.add", "subject": "x", "id": str(number), "source": "s", "data": {"number": number}})
        assert all("result" in add(cluster.nodes[number % 3], number) for number in range(3))
        kept = tmp_path_factory.mktemp("backup") / "data"
        database.stop()
        shutil.copytree(database.data, kept, symlinks=True)
        database.start()
        eventually(lambda: len(cluster.owners) == 1 and "result" in add(cluster.owners[0], 3))
        end = lambda: int(database.sql("SELECT sequence FROM ruled.logs"))
        played = lambda node: node.is_owner or node.health["sequence"] >= end()
        eventually(lambda: all(played(node) for node in cluster.nodes))
        for node in cluster.nodes:
            node.end(signal.SIGTERM)
        database.stop()
        shutil.rmtree(database.data)
        shutil.copytree(kept, database.data, symlinks=True)
        database.start()
        for node in cluster.nodes:
            node.start()
        eventually(lambda: len(cluster.owners) == 1 and len(cluster.standbys) == 2)
        assert all("the node drops its store" in node.log for node in cluster.nodes), "their stores are ahead of the log"
        owner = cluster.owners[0]
        assert owner.call("state", {"subject": "x"})["result"]["plugins"]["tally"]["numbers"] == [0, 1, 2]
        assert add(owner, 2)["result"]["duplicate"] and not add(owner, 3)["result"]["duplicate"]
        assert owner.call("state", {"subject": "x"})["result"]["plugins"]["tally"]["numbers"] == [0, 1, 2, 3]
    finally:
        cluster.stop()


def decides(kind):
    """The tally, with a decision of this kind."""
    return TALLY.replace("run = function(event, state)", f'run = function(event, state)\n    decide("kind", "{kind}")')


def rules(text):
    """Rules with one plugin, the tally, as a request has them."""
    return {"plugins": [{"name": "tally", "modules": [{"path": "tally/plugin.lua", "text": text}], "data": []}], "library": []}


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
    eventually(lambda: len(cluster.owners) == 1)
    taker = cluster.owners[0]
    assert taker.add() == "new" and taker.health["revision"] == revision
    assert "the rules folder of this node has others" in taker.problems and "the rules folder of this node has others" in taker.log
    shown = [entry for entry in taker.call("revisions")["result"] if entry["live"]]
    assert [entry["revision"] for entry in shown] == [revision]
    # The folder of a follower changes nothing, nor does its start.
    owner.start()
    eventually(lambda: owner.status == "standby")
    taker.write_rules(decides("other"))
    eventually(lambda: taker.add() == "other")
    assert "others" not in taker.problems
    load.go_on()
    load.check(taker)


def test_the_node_that_is_told_to_reload_has_its_folder_loaded(cluster):
    owner, (follower, other) = cluster.owners[0], cluster.standbys
    before = owner.health["revision"]
    follower.write_rules(decides("told"))
    assert "can't be asked" in owner.call("reload", {"node": "nobody"})["error"]["message"]
    assert other.call("reload")["result"] == {"revision": before, "changed": False}, "its own folder has not changed"
    reply = follower.call("reload")["result"]
    revision = owner.health["revision"]
    assert reply == {"revision": revision, "changed": True} and revision != before
    assert [node.add() for node in cluster.nodes] == ["told"] * 3
    assert "the rules folder of this node has others" in owner.problems
    assert follower.call("reload")["result"] == {"revision": revision, "changed": False}
    # A folder that does not load changes nothing, and file and line are named.
    follower.write_rules("plugin {\n  name = 7\n}\n")
    error = follower.call("reload")["error"]["data"]
    assert error["code"] == "reload_failed" and error["errors"][0]["file"] == "tally/plugin.lua"
    assert owner.health["revision"] == revision
    # Requests behind it on the same connection are answered, too.
    follower.write_rules(decides("later"))
    client = Client(follower.socket)
    client.send(*({"id": number, "method": method} for number, method in enumerate(["reload", "health", "counters"])))
    assert sorted(client.line()["id"] for _ in range(3)) == [0, 1, 2]
    eventually(lambda: other.add() == "later")
    # So it is in a batch, over HTTP at either socket, and for requests that name the node.
    follower.write_rules(decides("in a batch"))
    client = Client(follower.socket)
    client.send([{"jsonrpc": "2.0", "id": number, "method": method} for number, method in enumerate(["counters", "reload"])])
    assert ["result" in reply for reply in client.line()] == [True, True]
    assert other.add() == "in a batch"
    with httpx.Client(transport=httpx.HTTPTransport(uds=follower.socket), base_url="http://localhost", timeout=180) as web:
        follower.write_rules(decides("over HTTP"))
        assert web.post("/v1/rules/reload").json()["changed"] and other.add() == "over HTTP"
        follower.write_rules("plugin {\n  name = 7\n}\n")
        assert web.post("/v1/rules/reload").json()["data"]["errors"][0]["file"] == "tally/plugin.lua"
    follower.write_rules(decides("by a token"))
    url = f"http://127.0.0.1:{follower.web_port}/v1/rules/reload"
    assert httpx.post(url, headers={"authorization": "Bearer secret"}, timeout=180).status_code == 403, "the token is a writer's"
    follower.write_rules(decides("by its name"))
    assert other.call("reload", {"node": follower.name})["result"]["changed"] and owner.add() == "by its name"
    assert owner.call("reload", {"node": owner.name})["result"]["revision"] == before
    follower.write_rules(decides("later"))
    assert follower.call("reload")["result"]["changed"]
    # The next owner of the log serves them, and the folder of the former owner counts once it is told.
    owner.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1)
    assert cluster.owners[0].add() == "later"
    owner.start()
    eventually(lambda: owner.status == "standby" and owner.health["owner_reachable"])
    assert owner.call("reload")["result"] == {"revision": before, "changed": True}


@pytest.mark.skipif(os.getuid() != 0, reason="other users take root")
def test_a_node_that_follows_reads_its_configuration_again(cluster):
    follower = cluster.standbys[0]
    for path in [follower.folder, *follower.folder.parents]:
        if path.owner() == "root" and path.stat().st_mode & 0o077 == 0:
            path.chmod(0o711)
    os.chmod(follower.socket, 0o666)
    is_admin = lambda: "result" in (connect_as_nobody(follower.socket).call("counters") or {})
    assert not is_admin()
    file = follower.folder / "ruled.conf.lua"
    text = file.read_text()
    file.write_text(text + "admins = 7\n")
    follower.process.send_signal(signal.SIGHUP)
    eventually(lambda: "admins" in follower.problems)
    assert follower.status == "degraded" and metrics(follower)["ruled_config_refused"] == 1
    file.write_text(text.replace("workers = 2", "workers = 3") + 'admins = { "nobody" }\n')
    follower.process.send_signal(signal.SIGHUP)
    eventually(is_admin)
    assert follower.problems == "" and "the configuration changes workers, which takes a restart" in follower.log
    # It holds after a change of roles.
    for other in cluster.nodes:
        if other is not follower:
            assert tool(follower, "drain", other.name)[0] == 0
    eventually(lambda: follower.is_owner)
    assert is_admin()


@pytest.mark.skipif(os.getuid() != 0, reason="the time zones of a node are hidden as root only")
def test_a_node_that_cannot_load_a_revision_holds_it_up(cluster):
    owner, follower = cluster.owners[0], cluster.standbys[0]
    follower.end(signal.SIGTERM)
    hide = 'mount -t tmpfs none /usr/share/zoneinfo && exec "$0" "$@"'
    follower.start("unshare", "-m", "sh", "-c", hide)
    eventually(lambda: len(cluster.standbys) == 2)
    before = owner.health["revision"]
    new = decides("new") + '\nlocal day = calendar.day(0, "Europe/Berlin")\n'
    owner.write_rules(new)
    reply = owner.call("reload")
    message = json.dumps(reply["error"])
    assert f"node {follower.name} can't load revision" in message and "Europe/Berlin" in message
    assert owner.health["revision"] == before
    follower.end(signal.SIGTERM)
    follower.start()
    eventually(lambda: len(cluster.standbys) == 2)
    assert owner.call("reload")["result"]["revision"] != before
    assert owner.add() == "new"
    # A node that comes later and can't load what is in force does not take over.
    follower.end(signal.SIGTERM)
    follower.start("unshare", "-m", "sh", "-c", hide)
    eventually(lambda: follower.status == "degraded" and "can't take over" in follower.problems)
    assert metrics(follower)["ruled_cluster_can_take_over"] == 0 and metrics(follower)["ruled_cluster_up"] == 1
    for node in cluster.nodes:
        if node is not follower and node is not owner:
            other = node
    owner.end(signal.SIGKILL)
    eventually(lambda: other.is_owner)
    assert other.add() == "new"


def test_a_rollout_goes_on_after_a_take_over(cluster):
    owner = cluster.owners[0]
    reply = owner.call("rollout_start", {"rules": rules(decides("tried")), "percent": 100})
    assert "result" in reply, reply
    assert owner.add() == "tried"
    owner.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1)
    taker = cluster.owners[0]
    assert taker.add() == "tried"
    assert taker.call("rollout_status")["result"]["state"] == "running"
    promoted = taker.call("rollout_promote")["result"]["revision"]
    taker.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1)
    last = cluster.owners[0]
    assert last.add() == "tried" and last.health["revision"] == promoted


def test_the_revisions_of_an_earlier_owner_come_back_after_a_take_over(cluster):
    owner = cluster.owners[0]
    revisions = [owner.health["revision"]]
    for kind in ("bee", "cee", "dee"):
        owner.write_rules(decides(kind))
        revisions.append(owner.call("reload")["result"]["revision"])
    candidate = owner.call("rollout_start", {"rules": rules(decides("tried")), "percent": 100})["result"]["candidate"]
    event = {"type": "tally.add", "subject": "past", "id": "1", "data": {"number": 1}}
    assert owner.call("event", event)["result"]["revision"] == candidate
    owner.end(signal.SIGKILL)
    eventually(lambda: len(cluster.owners) == 1)
    taker = cluster.owners[0]
    past = taker.call("explain_past", {"subject": "past", "id": "1"})
    assert past["result"]["outcome"]["decisions"]["tally"]["kind"] == "tried", past
    assert taker.call("rollout_abort")["result"]["state"] == "aborted"
    kept = taker.call("revisions")["result"]
    assert [entry["revision"] for entry in kept] == [candidate, *reversed(revisions)] and kept[0]["source"] == "rollout"
    assert taker.call("rollback")["result"]["revision"] == revisions[2] and taker.add() == "cee"
    assert taker.call("rollback", {"revision": revisions[0]})["result"]["changed"]


def test_a_database_that_could_lose_commits_is_refused(tmp_path_factory):
    database = Database()
    def check(node):
        command = [PROGRAMS / "ruled", "--config", node.folder / "ruled.conf.lua", "--check"]
        return subprocess.run(command, capture_output=True, text=True)

    try:
        node = Node("a", database, tmp_path_factory.mktemp("a"), durability="commit")
        assert node.process.wait(180) == 2
        assert "synchronous_standby_names is empty" in node.log
        found = check(node)
        assert found.returncode == 1 and "ruled.conf.lua:3: store: synchronous_standby_names is empty" in found.stderr
        node = Node("b", database, tmp_path_factory.mktemp("b"), durability="provider")
        eventually(lambda: node.is_owner)
        assert "result" in node.call("event", {"type": "tally.add", "subject": "x", "data": {"number": 1}})
        assert "takes the operator's word" in node.log
        found = check(node)
        assert found.returncode == 0 and "PostgreSQL 15" in found.stdout and "takes the operator's word" in found.stdout
        node.end(signal.SIGTERM)
        database.stop()
        found = check(node)
        assert found.returncode == 1 and "store: the database can't be reached" in found.stderr
        database.start()
    finally:
        database.stop()
        shutil.rmtree(database.folder)
