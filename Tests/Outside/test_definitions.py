"""What `rulectl new` writes for editors, read by a real language server: right rules are clean, wrong calls show at their lines."""

import json
import subprocess

import pytest

from daemon import PROGRAMS

WRONG = """\
local day = calendar.weekdy(now(), "UTC")
calendar.day("now", "UTC")
calendar.day(now())
timer.set("a", "b", "c")
rule "x" { on = "y" }
emit("mail", 3)
log.inform("x")
decide(1, day)
---@param t ruled.Test
local function check(t)
  t:evnt("user:1", "a")
  t:event(1, "b")
  t:advance(3)
  return t:event("user:1", "a").decision
end
return check
"""
CODES = {
    1: "undefined-field", 2: "param-type-mismatch", 3: "missing-parameter", 4: "param-type-mismatch",
    5: "missing-fields", 6: "param-type-mismatch", 7: "undefined-field", 8: "param-type-mismatch",
    11: "undefined-field", 12: "param-type-mismatch", 13: "param-type-mismatch", 14: "undefined-field",
}


class LanguageServer:
    """A language server over a folder, which speaks LSP on its standard input and output."""

    def __init__(self, program, root):
        self.root = root
        self.process = subprocess.Popen(
            [program], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.sent = 0
        folders = [{"uri": root.as_uri(), "name": "rules"}]
        capabilities = {"textDocument": {"diagnostic": {}}, "workspace": {}}
        self.call(
            "initialize", processId=None, rootUri=root.as_uri(), workspaceFolders=folders, capabilities=capabilities
        )
        self.write(method="initialized", params={})

    def write(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = None
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length is not None, "the language server ended"
        return json.loads(self.process.stdout.read(length))

    def call(self, method, **params):
        self.sent += 1
        self.write(id=self.sent, method=method, params=params)
        while True:
            message = self.read()
            if "method" not in message and message.get("id") == self.sent:
                return message["result"]
            if "method" in message and "id" in message:
                self.write(id=message["id"], result=None)

    def findings(self, path):
        """The lines and codes of what is wrong in a file."""
        uri = (self.root / path).as_uri()
        document = {"uri": uri, "languageId": "lua", "version": 1, "text": (self.root / path).read_text()}
        self.write(method="textDocument/didOpen", params={"textDocument": document})
        found = self.call("textDocument/diagnostic", textDocument={"uri": uri})["items"]
        return {(item["range"]["start"]["line"] + 1, item["code"]) for item in found}


@pytest.fixture
def server(tool, tmp_path):
    """A language server over a rules folder with a new plugin, and a file of wrong calls."""
    program = tool("emmylua_ls")
    rules = tmp_path / "rules"
    subprocess.run([PROGRAMS / "rulectl", "new", "fresh", "--rules", rules], check=True, capture_output=True)
    (rules / "fresh/wrong.lua").write_text(WRONG)
    server = LanguageServer(program, rules)
    yield server
    server.process.kill()
    server.process.wait()


def test_a_new_plugin_and_the_definitions_themselves_are_clean(server):
    for path in ("fresh/plugin.lua", "fresh/tests/fresh_test.lua", ".definitions/ruled.lua"):
        assert server.findings(path) == set(), path


def test_wrong_calls_are_found_at_their_lines(server):
    found = server.findings("fresh/wrong.lua")
    assert set(CODES.items()) <= found
    assert {line for line, _ in found} == set(CODES)
