"""The OpenAPI document, and the daemon as schemathesis sees it through the document."""

import json
import os
import pathlib
import subprocess
import sys

import httpx
import pytest

from daemon import hurried

PLUGIN = """
plugin { name = "probe", version = "1", sinks = { "nowhere" } }
rule "bad" { on = "probe.bad", run = function() error("wrong") end }
rule "emit" { on = "probe.emit", run = function() emit("nowhere", "thing", { n = 1 }) end }
query "echo" (function(state, args) return { state = state, args = args } end)
"""

# A backup runs after all else, and a busy machine makes everything late.
PATIENCE = ["--request-timeout", "180", "--wait-for-schema", "180", "--suppress-health-check", "too_slow"]
ARGUMENTS = ["--seed", "1", "--no-color", *PATIENCE]
# The event stream never ends: schemathesis reads a response to its end, so it would wait for each one until its timeout, and count that as
# a failure. With HEAD it tries the stream's parameters; test_event_stream.py reads the stream.
ENDLESS = ["--exclude-operation-id", "watch"]
# A lease may wait for a minute, and no schema can tell which sinks are leased from; EffectRouteTests call it with good and bad params.
LEASE = ["--exclude-path", "/v1/lease"]
# No schema can tell which rules load. A try that loads takes long, and it changes what other operations do, as going back to a revision does: one
# that is pinned keeps the rules from being reloaded. RevisionTests, RolloutTests and test_rules_that_are_sent call them with good and bad rules.
RULES = [f"--exclude-operation-id={name}" for name in ("startRollout", "startShadow", "explainPast", "backtest", "rollBack")]
# HEAD is GET without the body, and would be half of all cases; it is tried where there are names in the path.
HEADS = ["--exclude-operation-id-regex", "^(?!watch).*Head$"]
# The methods that a path does not take are in test_every_error_of_the_listener_is_described.
SETTINGS = "[phases.coverage]\nunexpected-methods = []\n"


def state_without(name):
    """Settings that leave one parameter of a subject's state empty: no schema can tell that `at` and `version` exclude each other."""
    return f'[[operations]]\ninclude-path = "/v1/subjects/{{subject}}"\nparameters = {{ "query.{name}" = "" }}\n'


def expect_nothing(daemon, folder, *arguments, settings=""):
    """Runs schemathesis, which must find nothing."""
    (folder / "schemathesis.toml").write_text(SETTINGS + settings)
    done = subprocess.run(
        [pathlib.Path(sys.executable).with_name("st"), "run", f"{daemon.url}/openapi.json", *ARGUMENTS, *ENDLESS, *LEASE, *RULES]
        + [*arguments, "-H", f"Authorization: Bearer {daemon.token}", "-n", os.environ.get("RULED_EXAMPLES", "10")],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def test_schemathesis_finds_nothing(start, tmp_path):
    daemon = start(plugins={"probe": PLUGIN})
    expect_nothing(daemon, tmp_path, *HEADS, settings=state_without("at"))


def test_schemathesis_finds_nothing_about_what_exists(start, tmp_path):
    daemon = start(plugins={"probe": PLUGIN})
    daemon.send_examples()
    for number in range(3):
        daemon.event("probe.bad", f"parked:{number}")
        daemon.event("probe.emit", "sender")
    parked = daemon.http.get("/v1/parked").json()["parked"][0]["id"]
    effect = daemon.http.get("/v1/effects?sink=nowhere&limit=1").json()["effects"][0]["id"]
    revision = daemon.http.get("/v1/rules").json()["revision"]
    lines = [("subject", "sender"), ("query", "probe.echo"), ("revision", revision), ("file", "app.js")]
    settings = "[parameters]\n" + "".join(f'"path.{name}" = {json.dumps(value)}\n' for name, value in lines)
    for path, value in (("/v1/parked/", parked), ("/v1/effects/", effect)):
        settings += f'[[operations]]\ninclude-path-regex = "^{path}"\nparameters = {{ "path.id" = {json.dumps(value)} }}\n'
    expect_nothing(daemon, tmp_path, "--include-path-regex", "[{]", settings=settings + state_without("version"))
    daemon.event("probe.emit", "after it all")


def test_rules_that_are_sent(start):
    daemon = start(plugins={"probe": PLUGIN})
    event = {"subject": "sender", "id": daemon.event("probe.emit", "sender")["id"]}
    good = {"plugins": [{"name": "probe", "modules": [{"path": "probe/plugin.lua", "text": PLUGIN + "-- changed"}]}]}
    nonsense = {"plugins": [{"name": "probe", "modules": [{"path": "probe/plugin.lua", "text": "nonsense"}]}]}
    for path, params in (("explain", event), ("shadow", {}), ("rollout", {"percent": 0})):
        for rules, status in (({}, 400), ([], 400), (nonsense, 422), (good, 200)):
            reply = daemon.http.post(f"/v1/{path}", json={**params, "rules": rules})
            assert reply.status_code == status, (path, rules, reply.text)
    past = daemon.http.post("/v1/explain", json={**event, "rules": good}).json()
    assert past["subject"] == "sender" and past["other"]["outcome"]["effects"][0]["type"] == "thing"
    assert "other" not in daemon.http.post("/v1/explain", json=event).json()
    assert daemon.http.post("/v1/explain", json={**event, "id": "unknown"}).status_code == 404


def test_a_backtest_over_http(start):
    daemon = start(plugins={"probe": PLUGIN})
    for number in range(20):
        daemon.event("probe.emit", f"s:{number}")
    changed = PLUGIN.replace("n = 1", "n = 2")
    rules = {"plugins": [{"name": "probe", "modules": [{"path": "probe/plugin.lua", "text": changed}]}]}
    with hurried(daemon.process.pid, "ruled-backtest"):
        check_backtests(daemon, rules)


def check_backtests(daemon, rules):
    report = daemon.http.post("/v1/backtest", json={"rules": rules, "plugins": ["probe"], "fail_on": ["changed > 50%"]})
    assert report.status_code == 200, report.text
    report = report.json()
    assert report["outcomes"] == {"equal": 0, "changed": 20} and report["fidelity"]["equal"] == 20
    assert report["exceeded"] == ["changed > 50%"]
    page = daemon.http.post(
        "/v1/backtest", json={"rules": rules, "plugins": ["probe"]}, headers={"accept": "text/html,*/*;q=0.8"}
    )
    assert page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8", page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.text.startswith("<!doctype html>") and "nowhere thing" in page.text and "<mark>" in page.text
    refused = daemon.http.post("/v1/backtest", json={"rules": []}, headers={"accept": "text/html"})
    assert refused.status_code == 400 and refused.json()["code"] == -32602
    equal = {"plugins": [{"name": "probe", "modules": [{"path": "probe/plugin.lua", "text": PLUGIN}]}]}
    report = daemon.http.post("/v1/backtest", json={"rules": equal, "plugins": ["probe"], "subjects": "s:1"}).json()
    assert report["outcomes"] == {"equal": 11, "changed": 0} and report["subjects"] == 11
    for wrong in ({}, {"rules": []}, {"rules": rules, "fail_on": ["nonsense"]}, {"rules": rules, "sample": "0%"}, {"rules": rules, "x": 1}):
        assert daemon.http.post("/v1/backtest", json=wrong).status_code == 400, wrong


def test_every_error_of_the_listener_is_described(start):
    daemon = start()
    with httpx.Client(base_url=daemon.url, timeout=180) as client:
        refused = client.get("/openapi.json")
        assert refused.status_code == 401 and "www-authenticate" in refused.headers
        document = client.get("/openapi.json", headers={"authorization": f"Bearer {daemon.token}"}).json()
        for path, item in document["paths"].items():
            for method in {"get", "head", "post", "put", "delete", "patch", "options", "trace"} - set(item):
                reply = client.request(
                    method.upper(), path.replace("{", "").replace("}", ""),
                    headers={"authorization": f"Bearer {daemon.token}"},
                )
                assert reply.status_code == 405, (method, path)
                allowed = {name.strip().lower() for name in reply.headers["allow"].split(",")}
                assert allowed == set(item) - {"parameters"}
    assert document == daemon.http.get("/openapi.json").json()


def test_names_with_spaces_as_libraries_write_them(start):
    daemon = start()
    daemon.event("any", "a b+c/d")
    assert daemon.http.get("/v1/subjects", params={"prefix": "a b+"}).json()["subjects"] == []
    daemon.event("session.started", "user:a b+c/d", {"id": "1"})
    subjects = daemon.http.get("/v1/subjects", params={"prefix": "user:a b+"}).json()["subjects"]
    assert subjects == ["user:a b+c/d"]
