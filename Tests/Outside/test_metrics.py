"""The metrics, alerts and dashboard, checked with Prometheus's own tool."""

import json
import re
import subprocess

import pytest
import yaml

from daemon import ROOT, eventually

ALERTS = ROOT / "packaging/prometheus/ruled.rules.yml"
DASHBOARD = ROOT / "packaging/grafana/ruled.json"

PLUGIN = """
plugin { name = "probe", version = "1", sinks = { "nowhere" } }
rule "bad" { on = "probe.bad", run = function() error("wrong") end }
rule "spin" { on = "probe.spin", run = function() while true do end end }
rule "later" { on = "probe.later", run = function() timer.set("t", now() + 1, "probe.fired", {}) end }
rule "remind" { on = "probe.remind", run = function() timer.set("t", now() + 86400, "probe.fired", {}) end }
rule "count" { on = "probe.count", run = function(event)
  count("probe.odd", { ["a b"] = 'quote " slash \\\\ line \\n end', le = "x", counter = "y" })
  count("probe.many", { n = event.data.n })
  count("other.one")
  emit("nowhere", "thing", {})
end }
"""


@pytest.fixture
def calm_daemon(start):
    """A daemon without timers, whose events are those that a test sends."""
    return start(plugins={"probe": PLUGIN}, configuration='metrics = { counters = { "probe." }, series = 5 }\n')


@pytest.fixture
def daemon(calm_daemon):
    daemon = calm_daemon
    daemon.send_examples()
    for number in range(10):
        daemon.event("probe.count", "s", {"n": str(number)})
    for subject in ("a", "b"):
        assert daemon.event("probe.bad", subject)["failures"][0]["rule"] == "bad"
    assert daemon.event("probe.spin", "c")["failures"][0]["kind"] == "instructions"
    daemon.http.post("/v1/query/probe.nothing", json={})
    return daemon


def samples(text):
    """The samples of Prometheus's text format, by name and labels as written."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[0] != "#"}


def send_changed_rules(daemon, path, **params):
    """Starts a shadow or a rollout of the probe plugin, changed."""
    rules = {"plugins": [{"name": "probe", "modules": [{"path": "probe/plugin.lua", "text": PLUGIN + "-- changed"}]}]}
    reply = daemon.http.post(f"/v1/{path}", json={"rules": rules, **params})
    assert reply.status_code == 200, reply.text


def names(expression):
    """The names of metrics in an expression."""
    return set(re.findall(r"\b(?:ruled|process)_[a-z_]+\b", expression))


def read(daemon):
    reply = daemon.http.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return reply.text


def test_promtool_finds_nothing(daemon, tool):
    found = subprocess.run([tool("promtool"), "check", "metrics"], input=read(daemon), capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_what_happened_is_counted(daemon):
    before = samples(read(daemon))
    assert before['ruled_rule_failures_total{plugin="probe",rule="bad",kind="error"}'] == 2
    assert before['ruled_rule_failures_total{plugin="probe",rule="spin",kind="instructions"}'] == 1
    assert before['ruled_plugin_failures_total{plugin="probe"}'] == 3
    assert before['ruled_parked{plugin="probe"}'] == 3
    assert before['ruled_request_errors_total{code="not_found"}'] == 1
    assert before["ruled_event_latency_seconds_count"] == before["ruled_events_total"] > 100
    assert before['ruled_event_latency_seconds_bucket{le="+Inf"}'] == before["ruled_event_latency_seconds_count"]
    assert before["ruled_commit_events_sum"] >= before["ruled_events_total"] - before["ruled_events_duplicate_total"]
    assert before["ruled_commit_bytes_sum"] > 10_000
    assert before["ruled_commit_sync_seconds_count"] >= 1
    assert before["ruled_cache_misses_total"] == before["ruled_cache_subjects"] > 3
    assert before["ruled_store_disk_bytes"] > before["ruled_log_bytes"] > 0
    assert before['ruled_reloads_total{result="ok"}'] == 1
    assert before["process_resident_memory_bytes"] > 1 << 20 and before["process_open_fds"] > 10

    repeat = {"type": "probe.later", "subject": "t", "id": "1"}
    assert daemon.event(**repeat)["duplicate"] is False
    assert daemon.event(**repeat)["duplicate"] is True
    first = daemon.http.get("/v1/parked?limit=1").json()["parked"][0]["id"]
    assert daemon.http.post(f"/v1/parked/{first}/retry").json()["failed"] == 1
    assert samples(read(daemon))['ruled_parked{plugin="probe"}'] == 3
    assert daemon.http.delete(f"/v1/parked/{first}").json()["dropped"] == 1
    daemon.http.delete("/v1/subjects/c")
    fired = before["ruled_timers_fired_total"]
    eventually(lambda: samples(read(daemon))["ruled_timers_fired_total"] > fired)
    # A reply may leave before it is counted.
    eventually(
        lambda: samples(read(daemon))["ruled_event_latency_seconds_count"] == before["ruled_event_latency_seconds_count"] + 2
    )
    after = samples(read(daemon))
    assert after["ruled_events_duplicate_total"] == before["ruled_events_duplicate_total"] + 1
    assert after['ruled_parked{plugin="probe"}'] == 1

    (daemon.rules / "probe" / "plugin.lua").write_text("plugin {")
    assert daemon.http.post("/v1/rules/reload").status_code == 422
    after = samples(read(daemon))
    assert after['ruled_reloads_total{result="failed"}'] >= 1 and after["ruled_reload_errors"] == 1
    assert after['ruled_reload_error_info{file="probe/plugin.lua",line="1"}'] == 1


def test_what_waits_is_counted_again_after_a_restart(daemon, start):
    for number in range(5):
        daemon.event("probe.remind", f"t:{number}")
    eventually(lambda: samples(read(daemon))["ruled_messages_waiting"] == 0)  # those of the examples may set timers
    waiting = samples(read(daemon))["ruled_timers_waiting"]
    assert waiting >= 5
    daemon.process.terminate()
    daemon.process.wait(180)
    daemon.restart()
    after = samples(read(daemon))
    assert after['ruled_parked{plugin="probe"}'] == 3
    assert 5 <= after["ruled_timers_waiting"] <= waiting  # those of the examples may have fired
    assert daemon.http.get("/healthz").json()["parked"] == {"probe": 3}


def test_counters_are_shown_by_prefix_up_to_the_limit(daemon):
    text = read(daemon)
    shown = [line for line in text.splitlines() if line.startswith("ruled_counted_total{")]
    assert len(shown) == 5 and not any("other.one" in line for line in shown)
    assert samples(text)["ruled_counted_omitted"] == 6


def test_labels_are_escaped(start, tool):
    daemon = start(plugins={"probe": PLUGIN}, configuration='metrics = { counters = { "probe.odd" } }\n')
    daemon.event("probe.count", "s", {"n": "1"})
    text = read(daemon)
    assert (
        'ruled_counted_total{counter="probe.odd",a_b="quote \\" slash \\\\ line \\n end",label_counter="y",label_le="x"} 1'
        in text
    )
    subprocess.run([tool("promtool"), "check", "metrics"], input=text, check=True, text=True)


def test_subjects_are_no_labels(daemon):
    daemon.event("probe.bad", "somebody:else")
    assert "somebody" not in read(daemon)


def test_alerts_fire_when_they_should(tool):
    alerts = [rule["alert"] for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]]
    proofs = ALERTS.with_name("ruled.rules.test.yml")
    proven = [test["alert_rule_test"][-1]["alertname"] for test in yaml.safe_load(proofs.read_text())["tests"]]
    assert sorted(alerts) == sorted(proven)
    for arguments in (["check", "rules", ALERTS], ["test", "rules", proofs]):
        done = subprocess.run([tool("promtool"), *arguments], capture_output=True, text=True, cwd=ALERTS.parent)
        assert done.returncode == 0, done.stdout + done.stderr


def expressions():
    """The expressions of the alerts and of the dashboard."""
    for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]:
        yield rule["expr"]
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        yield annotation["expr"]


def test_a_shadow_and_a_rollout_are_told(calm_daemon, tool):
    daemon = calm_daemon
    assert "ruled_shadow_" not in read(daemon) and "ruled_rollout_" not in read(daemon)
    send_changed_rules(daemon, "shadow")
    send_changed_rules(daemon, "rollout", percent=50)
    for number in range(200):
        daemon.event("probe.count", f"user:{number}", {"n": "1"})
    daemon.await_shadow(lambda status: status["events"] == 200)
    text = read(daemon)
    found = samples(text)
    revision = daemon.shadow()["candidate"]
    assert found[f'ruled_shadow_info{{revision="{revision}"}}'] == found["ruled_shadow_up"] == 1 and found["ruled_shadow_percent"] == 100
    assert found['ruled_shadow_outcomes_total{result="equal"}'] == 200
    assert found["ruled_shadow_subjects_skipped_total"] == 0 and found["ruled_shadow_behind_seconds"] >= 0
    assert found['ruled_shadow_run_seconds_count{plugin="probe"}'] >= 10
    live, other = (found[f'ruled_rollout_events_total{{revision="{name}",side="{side}"}}'] for name, side in (
        (daemon.http.get("/v1/rules").json()["revision"], "live"), (revision, "candidate")))
    assert live + other == 200 and other > 50
    # The counts of the live rules are theirs alone.
    assert found['ruled_plugin_runs_total{plugin="probe"}'] == live
    assert found['ruled_rollout_run_seconds_count{plugin="probe"}'] >= 1
    subprocess.run([tool("promtool"), "check", "metrics"], input=text, check=True, text=True, capture_output=True)


def test_alerts_and_dashboard_use_metrics_that_exist(daemon):
    send_changed_rules(daemon, "shadow")
    send_changed_rules(daemon, "rollout", percent=50)
    families = dict(re.findall(r"# TYPE (\S+) (\S+)", read(daemon)))
    known = set(families)
    for name, kind in families.items():
        if kind == "histogram":
            known |= {name + "_bucket", name + "_sum", name + "_count"}
    # Those of clusters are shown by nodes of one: see test_nodes.py.
    used = [names(expression) for expression in expressions() if "_cluster_" not in expression]
    assert all(names(expression) or "up{" in expression for expression in expressions())
    assert set().union(*used) <= known
    assert len(set().union(*used)) > 40


def test_the_dashboards_expressions_are_valid(tmp_path, tool):
    dashboard = list(expressions())
    rules = [
        {"record": f"e{number}", "expr": text.replace("$__rate_interval", "5m").replace("$instance", ".*")}
        for number, text in enumerate(dashboard)
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    done = subprocess.run([tool("promtool"), "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
