"""The OpenAPI document, and the daemon as schemathesis sees it through the document."""

import json
import os
import pathlib
import subprocess
import sys

import httpx
import pytest

PLUGIN = """
plugin { name = "probe", version = "1", sinks = { "nowhere", "leased" } }
rule "lease" { on = "probe.lease", run = function() emit("leased", "thing", { n = 1 }) end }
rule "bad" { on = "probe.bad", run = function() error("wrong") end }
rule "emit" { on = "probe.emit", run = function() emit("nowhere", "thing", { n = 1 }) end }
query "echo" (function(state, args) return { state = state, args = args } end)
"""

ARGUMENTS = ["--seed", "1", "--no-color"]
# The event stream never ends: schemathesis reads a response to its end, so it would wait for each one until its timeout, and count that as
# a failure. With HEAD it tries the stream's parameters; test_event_stream.py reads the stream.
ENDLESS = ["--exclude-operation-id", "watch"]
# A lease may wait for a minute, and no schema can tell which sinks are leased from: the tests leave it out that do not say both.
LEASE = ["--exclude-path", "/v1/lease"]

# Turns every good sink of a lease into the one that is leased from, and every good wait into none.
LEASE_HOOKS = """
import schemathesis

@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict) or "lease" not in context.operation.path:
        return body
    body = dict(body)
    if isinstance(body.get("sink"), str) and body["sink"]:
        body["sink"] = "leased"
    if isinstance(body.get("sinks"), list) and body["sinks"] and all(isinstance(sink, str) for sink in body["sinks"]):
        body["sinks"] = ["leased"]
    if type(body.get("wait")) is int and 0 <= body["wait"] <= 60:
        body["wait"] = 0
    return body
"""


def expect_nothing(daemon, folder, *arguments, settings=""):
    """Runs schemathesis, which must find nothing."""
    (folder / "schemathesis.toml").write_text(settings)
    done = subprocess.run(
        [pathlib.Path(sys.executable).with_name("st"), "run", f"{daemon.url}/openapi.json", *ARGUMENTS, *ENDLESS, *arguments]
        + ["-H", f"Authorization: Bearer {daemon.token}", "-n", os.environ.get("RULED_EXAMPLES", "10")],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def test_schemathesis_finds_nothing(start, tmp_path):
    daemon = start(plugins={"probe": PLUGIN})
    expect_nothing(daemon, tmp_path, *LEASE)


def test_schemathesis_finds_nothing_about_leases(start, tmp_path):
    daemon = start(plugins={"probe": PLUGIN}, configuration="sinks = { leased = { lease = true } }\n")
    for number in range(20):
        daemon.event("probe.lease", f"s:{number}")
    (tmp_path / "hooks.py").write_text(LEASE_HOOKS)
    expect_nothing(daemon, tmp_path, "--include-path", "/v1/lease", "--include-path", "/v1/confirm", settings='hooks = "hooks"\n')
    assert daemon.http.post("/v1/lease", json={"sink": "leased"}).status_code == 200


def test_schemathesis_finds_nothing_about_what_exists(start, tmp_path):
    daemon = start(plugins={"probe": PLUGIN})
    daemon.send_examples()
    for number in range(3):
        daemon.event("probe.bad", f"parked:{number}")
        daemon.event("probe.emit", "sender")
    parked = daemon.http.get("/v1/parked").json()["parked"][0]["id"]
    effect = daemon.http.get("/v1/effects?sink=nowhere&limit=1").json()["effects"][0]["id"]
    lines = [("subject", "sender"), ("query", "probe.echo")]
    settings = "[parameters]\n" + "".join(f'"path.{name}" = {json.dumps(value)}\n' for name, value in lines)
    for path, value in (("/v1/parked/", parked), ("/v1/effects/", effect)):
        settings += f'[[operations]]\ninclude-path-regex = "^{path}"\nparameters = {{ "path.id" = {json.dumps(value)} }}\n'
    expect_nothing(daemon, tmp_path, *LEASE, "--include-path-regex", "[{]", settings=settings)
    daemon.event("probe.emit", "after it all")


def test_every_error_of_the_listener_is_described(start):
    daemon = start()
    with httpx.Client(base_url=daemon.url) as client:
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
