"""The event stream as common clients read it: a heartbeat is nothing that they see."""

import json
import pathlib
import shutil
import subprocess
import threading

import httpx_sse
import pytest

from daemon import web_client

SCRIPT = pathlib.Path(__file__).with_name("event_source.mjs")


class Reader(threading.Thread):
    """Collects the events of a stream until `count` have come."""

    def __init__(self, read, count):
        super().__init__(daemon=True)
        self.read, self.count, self.events, self.begun = read, count, [], threading.Event()
        self.start()

    def run(self):
        for event in self.read():
            if event == "open":
                self.begun.set()
                continue
            self.events.append(event)
            if len(self.events) == self.count:
                return


def with_httpx(daemon):
    """Events as httpx-sse gives them."""
    with web_client(daemon.socket) as client:
        with httpx_sse.connect_sse(client, "GET", "/v1/watch") as source:
            yield "open"
            for event in source.iter_sse():
                yield event.event, event.id, event.data


def with_event_source(daemon):
    """Events as the EventSource of Node gives them."""
    process = subprocess.Popen(
        ["node", "--no-warnings", "--experimental-eventsource", SCRIPT, daemon.socket], stdout=subprocess.PIPE, text=True
    )
    try:
        for line in process.stdout:
            event = json.loads(line)
            yield "open" if event == "open" else tuple(event)
    finally:
        process.kill()
        process.wait()


def heartbeats(daemon, count, seen):
    """Reads the bytes of a stream until there were some heartbeats."""
    with web_client(daemon.socket) as client:
        with client.stream("GET", "/v1/watch") as reply:
            for line in reply.iter_lines():
                count -= line == ":"
                if count == 0:
                    break
    seen.set()


def has_event_source():
    """Whether there is a Node with an EventSource."""
    if shutil.which("node") is None:
        return False
    return subprocess.run(["node", "--experimental-eventsource", "-e", ""], capture_output=True).returncode == 0


def test_clients_see_changes_and_no_heartbeats(start):
    daemon = start()
    readers = [Reader(lambda: with_httpx(daemon), 2)]
    if has_event_source():
        readers.append(Reader(lambda: with_event_source(daemon), 2))
    for reader in readers:
        assert reader.begun.wait(180)
    daemon.event("watched", "first")
    # A heartbeat comes every 15 s. The first one after the change is the one that clients could take for an event.
    seen = threading.Event()
    threading.Thread(target=heartbeats, args=(daemon, 1, seen), daemon=True).start()
    assert seen.wait(180)
    daemon.event("watched", "second")
    for reader in readers:
        reader.join(180)
        assert [(kind, json.loads(data)["subject"]) for kind, _, data in reader.events] == [
            ("changed", "first"),
            ("changed", "second"),
        ]
        ids = [int(id) for _, id, _ in reader.events]
        assert ids == [json.loads(data)["sequence"] for _, _, data in reader.events]
        # The first is above 1: rules that are loaded take a sequence that no watcher gets.
        assert ids[1] == ids[0] + 1
    if len(readers) == 1:
        pytest.skip("httpx-sse passed; there is no Node with an EventSource (20.18 or later) to try")
