"""A daemon with two weeks of the products' events, a plugin that fails, and a sink whose receiver refuses."""

import datetime
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from throwaway_postgres import free_port  # noqa: E402

FAULTY = """
plugin { name = "orders", version = "1.0.0", about = "Adds up what was ordered." }
rule "total" { on = "order.placed", run = function(event, state)
  if event.data.stuck then error("the order " .. event.id .. " is stuck") end
  state.total = (state.total or 0) + event.data.amount
  decide("total", state.total)
end }
"""
FIRST_DAY = datetime.datetime(2026, 3, 1, 8, tzinfo=datetime.timezone.utc)


class Refusing(http.server.BaseHTTPRequestHandler):
    status = 400

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b'{"error":"the pixel is not known"}'
        self.send_response(self.status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Daemon:
    def __init__(self, programs, root, folder, listens=True):
        self.programs, self.folder = programs, folder
        self.socket_path = os.path.join(folder, "ruled.sock")
        self.rules = os.path.join(folder, "rules")
        shutil.copytree(os.path.join(root, "rules"), self.rules)
        os.mkdir(os.path.join(self.rules, "orders"))
        self.write_rule(FAULTY)
        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()
        self.port = free_port()
        token = os.path.join(folder, "token")
        with open(token, "w") as file:
            file.write("the-bearer-token\n")
        os.chmod(token, 0o600)
        listen = f'http = {{ listen = "127.0.0.1:{self.port}", token_file = "{token}" }}' if listens else ""
        with open(os.path.join(folder, "ruled.conf.lua"), "w") as file:
            file.write(f"""
socket = "{self.socket_path}"
rules = "{self.rules}"
store = "rocksdb:{folder}/store"
durability = "interval"
{listen}
sinks = {{
  analytics = {{ file = "{folder}/analytics.ndjson" }},
  conversions = {{ url = "http://127.0.0.1:{self.receiver.server_port}/events" }},
}}
""")
        self.log = open(os.path.join(folder, "log"), "w")
        self.process = subprocess.Popen(
            [os.path.join(programs, "ruled"), "--config", os.path.join(folder, "ruled.conf.lua"), "--clock", "manual"],
            stderr=self.log)
        end = time.monotonic() + 180
        self.connection = socket.socket(socket.AF_UNIX)
        while self.connection.connect_ex(self.socket_path) != 0:
            assert self.process.poll() is None and time.monotonic() < end, open(self.log.name).read()
            time.sleep(0.02)
        self.lines = self.connection.makefile("r")
        self.last = 0

    def close(self):
        self.process.terminate()
        assert self.process.wait(180) == 0
        self.receiver.shutdown()

    def write_rule(self, text):
        with open(os.path.join(self.rules, "orders", "plugin.lua"), "w") as file:
            file.write(text)

    def call_all(self, method, many):
        """Pipelines requests; returns their replies in order."""
        replies = []
        for start in range(0, len(many), 500):
            part = many[start:start + 500]
            lines = []
            for params in part:
                self.last += 1
                lines.append(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}) + "\n")
            first = self.last - len(part) + 1
            sender = threading.Thread(target=self.connection.sendall, args=("".join(lines).encode(),))
            sender.start()
            found = {}
            while len(found) < len(part):
                reply = json.loads(self.lines.readline())
                found[reply["id"]] = reply
            sender.join()
            replies += [found[number] for number in range(first, self.last + 1)]
        return replies

    def call(self, method, params=None):
        reply = self.call_all(method, [params or {}])[0]
        assert "error" not in reply, reply
        return reply["result"]

    def rulectl(self, *words, **options):
        command = [os.path.join(self.programs, "rulectl"), "--socket", self.socket_path, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)

    def set_time(self, moment):
        self.call("clock", {"set": moment.isoformat().replace("+00:00", "Z")})


def play(daemon, root, days=14, users=24):
    """The examples' days, one after the other, and users who come back, by a fixed pattern."""
    examples = {}
    for name in ["analytics", "attribution", "deeplinks", "gamification", "onboarding"]:
        with open(os.path.join(root, "examples", f"{name}.ndjson")) as file:
            examples[name] = [json.loads(line) for line in file]
    for day in range(days):
        start = FIRST_DAY + datetime.timedelta(days=day)
        daemon.set_time(start)
        events = []
        names = list(examples)
        for event in examples[names[day % len(names)]]:
            event = {**event, "id": f"{event['id']}-{day}", "subject": f"{event['subject']}-{day}"}
            events.append(event)
        for user in range(users):
            installed = user * days // users
            age = day - installed
            if age < 0 or age > 0 and (user * 7 + day * (user % 5 + 1)) % (3 + user % 3) == 0:
                continue
            events += visit(f"device:u{user:02}", user, day, age)
        replies = daemon.call_all("event", [{key: value for key, value in event.items() if key != "time"} for event in events])
        assert all("result" in reply or reply["error"]["code"] == -32602 for reply in replies), replies
    daemon.set_time(FIRST_DAY + datetime.timedelta(days=days - 1, hours=12))


def visit(subject, user, day, age):
    """What one user does on one day."""
    def event(number, kind, **data):
        return {"type": kind, "subject": subject, "id": f"{subject}-{day}-{number}", "data": data}
    links = ["fbclid=IwAR1", "utm_source=tiktok", "utm_source=google", "", "", "utm_source=newsletter"]
    events = [event(0, "session.started"), event(1, "app.opened", launch_type="cold_start")]
    if age == 0:
        link = links[user % len(links)]
        events.insert(0, event(20, "settings.analytics_toggled", enabled=True))
        events.append(event(2, "app.launched", platform="ios", att_status="authorized",
                            url=f"https://discovery.ozma.io/go-app/the-boss?{link}" if link else None))
        person = f"user:u{user:02}"
        signed = [{"type": "user.signed_in", "subject": person, "id": f"{person}-in", "data": {}}]
        if user % 3:
            signed.append({"type": "bell.opened", "subject": person, "id": f"{person}-bell", "data": {}})
        if user % 2:
            signed.append({"type": "stamp.claim", "subject": person, "id": f"{person}-claim", "data": {"stamp": "welcome"}})
        events += signed
    events += [
        event(3, "screenshot_upload_initiated", source="photo_library"),
        event(4, "screenshot_upload_failed", error_code="timeout", error_message="no answer", retry_attempt=1)
        if (user + day) % 9 == 0 else event(4, "screenshot_upload_success", image_size_kb=412, upload_duration_ms=2100),
        event(5, "screenshot_analysis_started", tone_selected="witty"),
        event(6, "screenshot_analysis_completed", analysis_duration_ms=3900, tone_selected="witty"),
        event(7, "flirts.generated", flirt_count=3),
    ]
    events += [event(8 + index, "flirt.revealed", flirt_index=index, scroll_duration_ms=900, reveal_method="scroll") for index in range(3)]
    if (user + day) % 9 == 0:
        events.append(event(12, "error_displayed", error_type="network_error", error_code="timeout", screen="analyze"))
    events.append(event(13, "session.ended"))
    return events


def fail(daemon):
    """Parks events in two groups."""
    events = [{"type": "order.placed", "subject": f"user:u{number:02}", "data": {"amount": "a lot"}} for number in range(6)]
    events += [{"type": "order.placed", "subject": f"user:u{number:02}", "id": f"order-{number}", "data": {"stuck": True}} for number in range(6, 9)]
    events.append({"type": "order.placed", "subject": "user:u09", "data": {"amount": 5}})
    for reply in daemon.call_all("event", events):
        assert "result" in reply, reply
