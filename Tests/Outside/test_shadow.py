"""What a shadow must not do: be seen outside, hold up the live rules, or leave something behind. What both sides' run times say."""

import contextlib
import ctypes
import json
import os
import signal

import pytest

from daemon import eventually, hurry, threads


def loud(number):
    """Rules that do all that could be seen outside, with their number in it."""
    return f"""
plugin {{ name = "numbered", version = "{number}", sinks = {{ "out" }} }}
rule "ask" {{ on = "ask", run = function(event, state)
  state.number = {number}
  decide("number", {number})
  count("numbered.side", {{ side = "{number}" }})
  log.info("said by {number}")
  emit("out", "said", {{ by = {number} }})
  send("only:{number}", "passed", {{ by = {number} }})
  send("other:" .. event.subject, "passed", {{ by = {number} }})
  timer.set("t", now() + 1, "rang", {{ by = {number} }})
end }}
rule "kept" {{ on = {{ "passed", "rang" }}, run = function(event, state) state.by = event.data.by end }}
rule "bad" {{ on = "bad", run = function() if {number} == 2 then error("planted") end end }}
"""


def slow(number, turns):
    """Rules that decide their number, after a while."""
    return f"""
plugin {{ name = "numbered", version = "{number}" }}
rule "ask" {{ on = "ask", run = function(event, state)
  local sum = 0
  for turn = 1, {turns} do sum = sum + turn end
  state.number = {number}
  decide("number", {number})
end }}
"""


def sent(text):
    """Rules of one plugin as they are sent to the daemon, beside the live ones of all other plugins."""
    rules = {"plugins": [{"name": "numbered", "modules": [{"path": "numbered/plugin.lua", "text": text}]}]}
    return {"rules": rules, "plugins": ["numbered"]}


def start_shadow(daemon, text):
    reply = daemon.http.post("/v1/shadow", json=sent(text))
    assert reply.status_code == 200, reply.text


def send_batch(daemon, count):
    """Sends an event to each of some subjects in one request; returns the outcomes."""
    batch = [{"type": "ask", "subject": f"user:{number}"} for number in range(count)]
    headers = {"content-type": "application/cloudevents-batch+json"}
    reply = daemon.http.post("/v1/events", content=json.dumps(batch), headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_nothing_of_a_shadow_is_seen_outside(start):
    daemon = start(plugins={"numbered": loud(1)})
    changes = []
    start_shadow(daemon, loud(2))
    for number in range(20):
        daemon.event("ask", f"user:{number}", wait="cascade")
    daemon.event("bad", "user:0")
    # Events, of each two messages the one that both sides have, and timers; the other message is the shadow's alone.
    daemon.await_shadow(lambda status: status["events"] >= 20 * 4 + 1)
    found = daemon.shadow()
    assert found["outcomes"]["changed"] >= 21 and "error" not in found
    assert {example["subject"] for example in found["examples"]}

    text = daemon.http.get("/v1/log", params={"limit": 10000}).text
    changes.append(text)
    live = daemon.http.get("/v1/rules").json()
    assert text.count(f'"revision":"{live["revision"]}"') >= 81 and found["candidate"] not in text
    with daemon.http.stream("GET", "/v1/watch", params={"after": 1}) as stream:
        for line in stream.iter_lines():
            changes.append(line)
            if "user:19" in line:
                break
    changes.append(daemon.http.get("/v1/effects", params={"sink": "out", "data": "true"}).text)
    eventually(lambda: "said by 1" in (daemon.folder / "log").read_text())
    changes.append((daemon.folder / "log").read_text())
    for seen in changes:
        assert "only:2" not in seen and '"by":2' not in seen and "planted" not in seen and "said by 2" not in seen
    assert "said by 1" in changes[-1] and changes[-2].count('"by":1') == 20
    assert daemon.http.get("/v1/subjects", params={"prefix": "only:"}).json()["subjects"] == ["only:1"]
    assert daemon.http.get("/v1/subjects/user:7").json()["plugins"]["numbered"] == {"number": 1, "by": 1}
    assert daemon.http.get("/v1/parked").json()["parked"] == []
    counters = daemon.http.get("/v1/counters", params={"prefix": "numbered."}).json()
    assert [counter["value"] for counter in counters] == [20], counters
    plugin = next(plugin for plugin in live["plugins"] if plugin["name"] == "numbered")
    # 20 were asked, with two messages and a timer each, and one fails in the shadow alone.
    assert (plugin["runs"], plugin["failures"]) == (81, 0)


def test_a_shadow_that_cannot_keep_up_skips_subjects_and_counts_them(start):
    daemon = start(plugins={"numbered": slow(1, 0)}, configuration="limits = { shadow_s = 1 }")
    start_shadow(daemon, slow(2, 200_000))
    count = 0
    while daemon.shadow()["skipped"] == 0:
        hurry(daemon.process.pid, "ruled-shadow")
        # The live rules go on, whatever the shadow does.
        assert all(outcome["decisions"]["numbered"]["number"] == 1 for outcome in send_batch(daemon, 200))
        count += 200
        assert count < 100_000, daemon.shadow()
    found = daemon.shadow()
    assert 1 <= found["skipped"] <= 200 and found["events"] < count and "error" not in found


def test_a_kill_leaves_no_copy_of_a_shadow_and_a_backup_does_not_take_it(start):
    daemon = start(plugins={"numbered": slow(1, 0)})
    copies = daemon.folder / "store/journal"
    for round in range(2):
        assert daemon.http.get("/v1/shadow").status_code == 404 and not list(copies.glob("replay-*"))
        start_shadow(daemon, slow(2, 10))
        assert daemon.http.post("/v1/backup").status_code == 200
        assert list(copies.glob("replay-*"))
        for number in range(50):
            daemon.event("ask", f"user:{number}")
        # Each event that was sent after the start is seen.
        daemon.await_shadow(lambda status: status["outcomes"]["changed"] == 50)
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
        daemon.restart()
        state = daemon.http.get("/v1/subjects/user:1").json()
        assert (state["version"], state["plugins"]["numbered"]["number"]) == (round + 1, 1)


def test_run_times_of_both_sides(start):
    # Each worker measures every 16th of its runs.
    daemon = start(plugins={"numbered": slow(1, 0)}, configuration="workers = 2")

    def are_whole(status):
        [times] = [times for times in status["run_times"] if times["plugin"] == "numbered"] or [{}]
        return all(
            times.get(side) and times[side]["measured"] >= 5 and 0 < times[side]["p50_us"] <= times[side]["p99_us"]
            for side in ("live", "candidate")
        )

    start_shadow(daemon, slow(2, 20_000))
    send_batch(daemon, 400)
    daemon.await_shadow(are_whole)
    daemon.http.post("/v1/shadow/stop")

    rules = sent(slow(2, 20_000))["rules"]
    started = daemon.http.post("/v1/rollout", json={"rules": rules, "percent": 50}).json()
    assert started["run_times"] == []
    send_batch(daemon, 400)
    rollout = daemon.http.get("/v1/rollout").json()
    assert are_whole(rollout), rollout
    assert "run_times" not in daemon.http.post("/v1/rollout/abort").json()


SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
EVERY_THREAD = 0x40000000


@contextlib.contextmanager
def without_processor(process, name):
    """Keeps a thread of a process from running, as a host does that has no processor left for it."""
    thread = next(thread for thread, found in threads(process).items() if found == name)
    trace = lambda request: ctypes.CDLL(None, use_errno=True).ptrace(request, thread, None, None)
    if trace(SEIZE) != 0:
        pytest.skip("this host lets nobody trace a thread")
    assert trace(INTERRUPT) == 0
    os.waitpid(thread, EVERY_THREAD)
    try:
        yield
    finally:
        trace(DETACH)


def test_a_shadow_that_gets_no_processor_is_shown_and_stopped_at_once(start):
    daemon = start(plugins={"numbered": slow(1, 0)})
    start_shadow(daemon, slow(2, 10))
    send_batch(daemon, 50)
    daemon.await_shadow(lambda status: status["events"] == 50)
    with without_processor(daemon.process.pid, "ruled-shadow"):
        found = daemon.shadow()
        assert found["events"] == 50
        stopped = daemon.http.post("/v1/shadow/stop").json()
        assert stopped["outcomes"] == found["outcomes"]
        assert daemon.http.get("/v1/shadow").status_code == 404 and daemon.http.get("/healthz").json()["shadow"] is None
        refused = daemon.http.post("/v1/shadow", json=sent(slow(3, 10)))
        assert refused.status_code == 503 and "has not ended" in refused.text, refused.text

    def starts():
        hurry(daemon.process.pid, "ruled-shadow")
        return daemon.http.post("/v1/shadow", json=sent(slow(3, 10))).status_code == 200

    eventually(starts)
