"""Starts the real daemon for a test and speaks to it."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import httpx

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from throwaway_postgres import free_port  # noqa: E402

PROGRAMS = ROOT / ".build" / os.environ.get("RULED_BUILD", "debug")


def eventually(condition):
    """Waits until the condition holds, which only takes so long if something hangs."""
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def threads(process):
    """The name of each thread of a process by its number. Threads that end meanwhile are left out."""
    names = {}
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names[int(thread)] = pathlib.Path(f"/proc/{process}/task/{thread}/comm").read_text().strip()
    return names


def hurry(process, wanted):
    """Gives a thread of a daemon that gets what others leave, on a busy machine nothing, a share of the processors. Needs root."""
    if os.geteuid():
        return
    # The process or its thread may end at any time.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread, name in threads(process).items():
            if name == wanted:
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, thread, 0)


@contextlib.contextmanager
def hurried(process, wanted):
    """Gives threads of that name, which the daemon begins meanwhile, a share of the processors, as `hurry` does."""
    over = threading.Event()

    def go_on():
        while not over.wait(0.05):
            hurry(process, wanted)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def web_client(socket):
    """An HTTP client of a Unix socket, which gives a busy daemon three minutes to answer."""
    return httpx.Client(transport=httpx.HTTPTransport(uds=socket), base_url="http://localhost", timeout=180)


class Daemon:
    """A daemon in a folder of its own, with the shipped rules and the plugins of a test."""

    token = "secret"

    def __init__(self, folder, plugins=None, configuration="", http=""):
        self.folder = pathlib.Path(folder)
        self.socket = str(self.folder / "s")
        self.rules = self.folder / "rules"
        shutil.copytree(ROOT / "rules", self.rules)
        for name, text in (plugins or {}).items():
            (self.rules / name).mkdir()
            (self.rules / name / "plugin.lua").write_text(text)
        (self.folder / "token").write_text(self.token)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.configuration = self.folder / "ruled.conf.lua"
        self.configuration.write_text(
            f'socket = "{self.socket}"\nrules = "{self.rules}"\nstore = "rocksdb:{self.folder}/store"\n'
            f'http = {{ listen = "127.0.0.1:{self.port}", token_file = "{self.folder}/token", role = "admin", {http} }}\n'
            # A shadow that stands still for long skips subjects.
            f"limits = {{ shadow_s = 3600 }}\n{configuration}\n"
        )
        self.restart()

    def restart(self):
        """Starts the daemon, which must not run."""
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen([PROGRAMS / "ruled", "--config", self.configuration], stderr=log)
        self.http = web_client(self.socket)
        eventually(self.answers)

    def answers(self):
        """Whether the daemon serves."""
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return self.http.get("/livez").status_code == 200
        except httpx.TransportError:
            return False

    def event(self, type, subject, data=None, **more):
        """The outcome of an event."""
        reply = self.http.post("/v1/events", json={"type": type, "subject": subject, "data": data, **more})
        assert reply.status_code == 200, reply.text
        return reply.json()

    def send_examples(self):
        """Sends a day of events of each product."""
        for path in sorted((ROOT / "examples").glob("*.ndjson")):
            for line in path.read_text().splitlines():
                self.http.post("/v1/events", json=json.loads(line)).raise_for_status()

    def shadow(self):
        """The status of the shadow."""
        return self.http.get("/v1/shadow").json()

    def await_shadow(self, condition):
        """Waits until the shadow's status is as the condition wants it."""

        def holds():
            hurry(self.process.pid, "ruled-shadow")
            return condition(self.shadow())

        eventually(holds)

    def stop(self):
        """Ends the daemon in order."""
        self.http.close()
        self.process.terminate()
        assert self.process.wait(120) == 0
