"""A cluster answers as one daemon does: the same seeded requests to a daemon with a store of its own and to each of three nodes, byte for byte."""

import ctypes.util
import json
import os
import random
import re
import signal
import socket
import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from daemon import PROGRAMS, ROOT, eventually
from throwaway_postgres import is_installed

pytestmark = pytest.mark.skipif(
    not is_installed() or ctypes.util.find_library("pq") is None,
    reason="postgresql-15 or libpq5 is not installed",
)

SEED = 20260211
START = "2026-02-11T08:00:00Z"
# A time of the host's clock, which a daemon reads until its clock is set. The set times are months away.
TODAY = datetime.now(timezone.utc)
DATES = "|".join(f"{TODAY + timedelta(days=day):%Y-%m-%d}" for day in range(2)).encode()
# What a daemon takes from chance, from the host's clock or from how long something took.
DIFFERS = re.compile(
    rb'"loaded_at":"[^"]*"|"(' + DATES + rb')T[0-9:.]+Z"|"(micros|p50_us|p99_us|took_ms|took_s|behind_s|events_per_s)":[0-9.e+-]+|"run_times":\[[^]]*\]|"folder":"[^"]*"'
    rb"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{15,16}-(?=[a-z]+:)|\ndate: [^\r]*(?=\r)", re.IGNORECASE)


class Side:
    """A daemon, or what takes its place, with the shipped rules and a clock that is set by hand."""

    def __init__(self, program, folder):
        self.folder = folder
        configuration = folder / "ruled.conf.lua"
        configuration.write_text('workers = 1\nsinks = { analytics = { lease = true } }\n')
        self.socket = str(folder / "s")
        command = [program, "--config", configuration, "--rules", ROOT / "rules", "--store", f"rocksdb:{folder}/n", "--socket", self.socket]
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(
                [*command, "--clock", "manual"], stderr=log, env={**os.environ, "RULED_PROGRAMS": str(PROGRAMS)})
        eventually(self.is_up)

    def is_up(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return b"result" in exchange(self.socket, b'{"jsonrpc":"2.0","id":1,"method":"counters"}')
        except (FileNotFoundError, ConnectionRefusedError):
            return False  # it is not there, or nobody listens yet

    @property
    def sockets(self):
        """The socket of each node; one if there are none."""
        return [str(self.folder / "n" / name / "s") for name in "abc" if (self.folder / "n" / name / "s").exists()] or [self.socket]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(180) == 0, (self.folder / "log").read_text()


def exchange(path, line):
    """The reply to a line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(180)
        connection.connect(path)
        connection.sendall(line + b"\n")
        with connection.makefile("rb") as replies:
            return replies.readline()


def web(path, method, target, body=b"", *fields):
    """The whole reply to a request over HTTP."""
    head = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}", *fields, "", ""]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(180)
        connection.connect(path)
        connection.sendall("\r\n".join(head).encode() + body)
        with connection.makefile("rb") as reply:
            return reply.read()


def ask(path, request):
    """The answer to a request, which is a line or the parts of one over HTTP; without what differs each time."""
    if isinstance(request, bytes):
        return DIFFERS.sub(b"~", exchange(path, request))
    head, _, body = web(path, *request).partition(b"\r\n\r\n")
    same = DIFFERS.sub(b"~", body)
    if same != body:
        head = re.sub(rb"content-length: \d+", b"~", head)
    return DIFFERS.sub(b"~", head) + same


def check_equal(found, expected, request):
    """Fails with what is around the first byte that differs."""
    if found != expected:
        place = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
        around = slice(max(0, place - 200), place + 100)
        pytest.fail(f"{request}\nis answered by the node:   {found[around]}\nand by the one daemon: {expected[around]}")


def line(method, number=1, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def examples():
    return [json.loads(text) for path in sorted((ROOT / "examples").glob("*.ndjson")) for text in path.read_text().splitlines()]


def changes(chance):
    """Requests that change something, in their order: each is sent once to each side."""
    # The consequences of an event are over before the next one, so that the order in the journal does not depend on the moment.
    events = [{**event, "id": event.get("id", f"e{number}"), "wait": "cascade"} for number, event in enumerate(examples())]
    yield line("clock", set=START)
    for number, event in enumerate(events):
        form = chance.randrange(6)
        if form == 0:
            yield line("event", f"x{number}", **{**event, "explain": True})
        elif form == 1:
            yield line("event", **{**event, "dryrun": True})
            yield line("event", **event)
        elif form == 2:
            yield ("POST", "/v1/events", json.dumps(event).encode(), "Content-Type: application/cloudevents+json")
        elif form == 3:
            batch = [{"jsonrpc": "2.0", "id": f"b{i}", "method": "event", "params": event} for i in range(2)]
            yield json.dumps(batch).encode()
        else:
            yield line("event", number + 0.5, **event)
        if chance.random() < 0.1:
            yield line("event", **chance.choice(events))
        if chance.random() < 0.05:
            yield line("clock", advance=chance.choice(["30s", "2h", "1d"]))
    for subject in sorted({event["subject"] for event in events})[::7]:
        yield line("forget", subject=subject)
    yield line("clock", advance="8d")
    yield line("resend", sink="analytics")
    yield line("drop_effects", sink="client")
    yield ("POST", "/v1/drop_effects", b'{"sink":"nothing"}', "Content-Type: application/json")
    yield line("retry", plugin="gamification")
    yield line("drop", plugin="gamification")
    yield line("reload")
    yield line("rollout_status")
    yield line("rollback", revision="0000000000000000")
    yield line("unpin")


def looks(subjects, queries, entries):
    """Requests that change nothing: each node answers each of them."""
    for subject in subjects:
        for name in queries:
            yield line("query", name=name, subject=subject)
        yield line("state", subject=subject)
        yield line("export", subject=subject)
        yield line("log", subject=subject)
        yield ("GET", f"/v1/subjects/{subject}")
        yield ("GET", f"/v1/subjects/{subject}/export")
        yield line("state", subject=subject, version=1)
        yield line("state", subject=subject, at="1h")
    for entry in entries:
        yield line("explain_past", subject=entry["subject"], id=entry["event"]["id"])
    for method in ("subjects", "rules", "revisions", "parked", "effects", "counters", "shadow_status", "rollout_status", "clock"):
        yield line(method)
    yield line("subjects", prefix="device:", limit=3)
    yield line("counters", prefix="analytics.")
    yield line("log", limit=20)
    yield line("effects", sink="analytics", data=True)
    for target in ("/v1/subjects?limit=2", "/v1/rules", "/v1/counters", "/v1/parked", "/v1/effects?limit=2", "/v1/log?limit=5", "/v1/revisions",
                   "/openapi.json", "/v1/nothing", "/v1/subjects?limit=x", "/", "/dashboard/dashboard.js"):
        yield ("GET", target)
    for target in ("/v1/subjects?limit=2", "/v1/nothing", "/openapi.json"):
        yield ("HEAD", target)
    yield ("PUT", "/v1/events", b"{}")
    yield ("POST", "/v1/events", b"{", "Content-Type: application/json")
    yield ("POST", "/v1/query/gamification.profile", b'{"subject":"user:1"}', "Content-Type: application/json")
    yield ("GET", "/v1/rules", b"", "Transfer-Encoding: chunked")
    for text in (b"{", b"[]", b"[1]", b"\xff", b'{"jsonrpc":"2.0","id":null,"method":"state"}', b'{"id":1}', b"[" * 100,
                 b'{"jsonrpc":"2.0","id":"\\u0041","method":"nothing","params":7}'):
        yield text
    yield line("event", type="")
    yield line("event", type="x", subject="y", unknown=1, time="never")
    yield line("query", name="nothing.at.all")
    yield line("state", subject="nobody")
    yield line("state", subjekt="nobody")


def result(path, method, **params):
    return json.loads(exchange(path, line(method, **params)))["result"]


def test_each_node_answers_as_one_daemon_does(tmp_path_factory):
    sides = []
    try:
        sides.append(Side(PROGRAMS / "ruled", tmp_path_factory.mktemp("one")))
        sides.append(Side(ROOT / "scripts" / "three-nodes", tmp_path_factory.mktemp("three")))
        one, three = sides[0].socket, sides[1].sockets
        assert len(three) == 3
        asked = 0
        for number, request in enumerate(changes(random.Random(SEED))):
            check_equal(ask(three[number % 3], request), ask(one, request), request)
            asked += 1
        plugins = result(one, "rules")["plugins"]
        assert len(plugins) >= 5
        queries = sorted(name for plugin in plugins for name in plugin["queries"])
        entries = [entry for entry in result(one, "log", limit=200)["entries"] if entry.get("event", {}).get("id")]
        for path in three:
            for request in looks(sorted(result(one, "subjects")["subjects"])[:12], queries, entries[::10]):
                check_equal(ask(path, request), ask(one, request), request)
                asked += 1
        assert asked > 300
    finally:
        for side in sides:
            side.stop()
