"""Nodes of ruled over the hosts of scripts/cluster: for the demonstration, and for faults in any order."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# How many seconds others wait for an owner of which they hear nothing.
LEASE = 2

TALLY = """
plugin { name = "tally", version = "1.0.0", about = "Notes the numbers of a subject's events, so that they can be counted." }
rule "add" {
  on = "tally.add",
  run = function(event, state)
    state.numbers = state.numbers or {}
    state.numbers[#state.numbers + 1] = event.data.number
    decide("position", #state.numbers)
  end,
}
"""


class Failure(Exception):
  """A sentence about the fault."""


BEGIN = time.monotonic()


def say(text):
  print(f"{time.monotonic() - BEGIN:6.1f} s  {text}", flush=True)


def wait(condition, seconds, failure):
  """Waits until the condition holds; gives its result, and how many seconds that took."""
  begin = time.monotonic()
  while not (found := condition()):
    if time.monotonic() - begin > seconds:
      raise Failure(failure)
    time.sleep(0.02)
  return found, time.monotonic() - begin


def going_on(counts):
  """A function that tells whether each of the counts of acknowledged events has grown by two: the answer to an event under way may have been on its way."""
  before = list(counts)
  return lambda: all(now > was + 1 for now, was in zip(counts, before))


def without_mark(outcome):
  """An outcome as it was the first time: without the marks of a repeat."""
  return {name: value for name, value in outcome.items() if name != "duplicate"}


class Hosts:
  """PostgreSQL, Patroni and etcd, by scripts/cluster."""

  def __init__(self, folder):
    self.folder = folder

  def run(self, *words):
    done = subprocess.run([ROOT / "scripts/cluster", "--folder", self.folder, *words], capture_output=True, text=True)
    if done.returncode != 0:
      raise Failure(done.stderr.strip())
    return done.stdout.strip()

  def namespace(self, host):
    """The network namespace of a host; None if it has none."""
    return json.loads(self.run("status"))["hosts"][host]["namespace"]

  @property
  def primary(self):
    return json.loads(self.run("status"))["primary"]

  def primary_other_than(self, host):
    """A function that gives the primary once it is another host, else None."""
    return lambda: next((name for name in [self.primary] if name != host), None)

  def fail_over(self, host):
    """Waits until another host is the primary, and until its commits reach its standbys; gives its name, and how many seconds each took."""
    successor, promotion = wait(self.primary_other_than(host), 120, "no standby becomes the primary")
    begin = time.monotonic()
    self.run("commits")
    return successor, promotion, time.monotonic() - begin

  def is_whole(self):
    roles = [host["role"] for host in json.loads(self.run("status"))["hosts"].values()]
    return sorted(map(str, roles)) == ["leader", "sync_standby", "sync_standby"]


class Node:
  """A node of ruled."""

  def __init__(self, name, folder, store, programs, prefix=(), lease=LEASE, **more):
    """A node that is started by the command `prefix`, if there is one; `more` has more settings of `cluster`."""
    self.name, self.folder, self.programs, self.prefix = name, folder / name, programs, prefix
    self.folder.mkdir(exist_ok=True)
    self.socket = str(self.folder / "ruled.sock")
    settings = {"node": name, "address": self.socket, "folder": f"{self.folder}/store", "lease": f"{lease}s", **more}
    (self.folder / "ruled.conf.lua").write_text(
      f'socket = "{self.socket}"\nrules = "{folder}/rules"\nstore = "{store}"\nworkers = 2\n'
      f'cluster = {{ {", ".join(f"{key} = {json.dumps(str(value))}" for key, value in settings.items())} }}\n'
      f'sinks = {{ ledger = {{ file = "{self.folder}/ledger.ndjson" }} }}\n'
    )
    self.start()

  def start(self):
    with open(self.folder / "log", "a") as log:
      # In a session of its own, so that Ctrl-C ends the nodes in their turn.
      self.process = subprocess.Popen(
        [*self.prefix, self.programs / "ruled", "--config", self.folder / "ruled.conf.lua"], stderr=log, start_new_session=True
      )

  def call(self, method, params=None, seconds=30):
    """The reply to a request; None if there is none."""
    with contextlib.suppress(OSError, ValueError):
      with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(self.socket)
        connection.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}).encode() + b"\n")
        with connection.makefile() as lines:
          return json.loads(lines.readline())
    return None

  @property
  def status(self):
    reply = self.call("health", seconds=5) if self.process.poll() is None else None
    return reply["result"]["status"] if reply and "result" in reply else None

  def signal(self, number):
    with contextlib.suppress(ProcessLookupError):
      self.process.send_signal(number)

  def end(self, number):
    self.signal(number)
    with contextlib.suppress(subprocess.TimeoutExpired):
      self.process.wait(10)
    if self.process.poll() is None:
      self.process.kill()
      self.process.wait()


class Services:
  """Start each node again soon after it has ended, as a service manager does."""

  def __init__(self, nodes, seconds=1):
    self.nodes, self.seconds, self.is_ending = nodes, seconds, threading.Event()
    # Nodes that are not started for the moment.
    self.held = set()
    self.thread = threading.Thread(target=self.run, daemon=True)
    self.thread.start()

  def run(self):
    while not self.is_ending.wait(self.seconds):
      for node in self.nodes:
        if node not in self.held and node.process.poll() is not None:
          node.start()

  def end(self):
    self.is_ending.set()
    self.thread.join()


class Clients:
  """Send events to whichever node takes them, each again until it is acknowledged."""

  def __init__(self, nodes, preferred=0):
    """Clients that ask the node number `preferred` first."""
    self.nodes, self.preferred = nodes, preferred

  def send(self, event, is_ending=lambda: False):
    """The outcome of an event; None if the clients end before."""
    while not is_ending():
      node = self.preferred
      reply = self.nodes[node].call("event", event, seconds=25)
      if reply and "result" in reply:
        return reply["result"]
      if reply and reply["error"]["data"]["code"] not in ("unavailable", "overloaded", "outcome_unknown"):
        raise Failure(f"the event {event['id']} is refused: {reply['error']['message']}")
      if self.preferred == node:
        self.preferred = (node + 1) % len(self.nodes)
      time.sleep(0.02)
    return None

  def owner(self):
    return next((node for node in self.nodes if node.status == "ready"), None)


def copy_rules(folder):
  """The shipped rules, and those that note the events."""
  shutil.copytree(ROOT / "rules", folder / "rules")
  (folder / "rules/tally").mkdir()
  (folder / "rules/tally/plugin.lua").write_text(TALLY)
