"""The real daemon in a folder of its own: started, killed and restarted, with rules, sinks and the preloaded library."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

TORTURE = pathlib.Path(__file__).resolve().parent.parent
CHECKOUT = TORTURE.parent
BUILD = CHECKOUT / ".build" / "torture"
LIBRARY = BUILD / "faults.so"

NOT_APPLIED = {"unavailable", "overloaded"}
UNKNOWN = {"outcome_unknown"}


class Violation(Exception):
  """The daemon did something that it must never do."""


class Refused(Exception):
  """The daemon exited instead of serving."""


def build_library():
  """Compiles the preloaded library, if it is older than its source.

  It is renamed into place, so that another run never loads half of it.
  """
  source = TORTURE / "preload" / "faults.c"
  if LIBRARY.exists() and LIBRARY.stat().st_mtime > source.stat().st_mtime:
    return
  BUILD.mkdir(parents=True, exist_ok=True)
  fresh = LIBRARY.with_suffix(f".{os.getpid()}")
  compiler = os.environ.get("CC", "cc")
  command = [compiler, "-O2", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", fresh, source, "-ldl"]
  subprocess.run(command, check=True)
  fresh.rename(LIBRARY)


class Client:
  """One connection for queries between the rounds, one at a time."""

  def __init__(self, path, seconds=180):
    self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    self.socket.settimeout(seconds)
    self.socket.connect(path)
    self.file = self.socket.makefile("rb")

  def reply(self, method, params=None):
    self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}).encode() + b"\n")
    line = self.file.readline()
    if not line:
      raise ConnectionError("the daemon closed the connection")
    return json.loads(line)

  def replies(self, requests):
    """Sends many requests, 200 at a time; returns the replies in the order of the requests."""
    found = []
    for begin in range(0, len(requests), 200):
      some = requests[begin : begin + 200]
      lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
               for number, (method, params) in enumerate(some)]
      self.socket.sendall("\n".join(lines).encode() + b"\n")
      answers = {}
      while len(answers) < len(some):
        line = self.file.readline()
        if not line:
          raise ConnectionError("the daemon closed the connection")
        answer = json.loads(line)
        answers[answer["id"]] = answer
      found += [answers[number] for number in range(len(some))]
    return found

  def close(self):
    self.file.close()
    self.socket.close()


class Daemon:
  """One `ruled`; `store` may be on another disk."""

  def __init__(self, program, folder, durability, store=None, settings=""):
    self.program = program
    self.folder = pathlib.Path(folder)
    self.store = pathlib.Path(store or self.folder / "store")
    self.socket = str(self.folder / "s")
    self.log = self.folder / "log"
    self.ledger = self.folder / "ledger.ndjson"
    self.process = None
    self.settings = settings
    self.starts = 0
    self.slowest_start = 0.0
    self.configure(durability)
    rules = self.folder / "rules"
    if not rules.exists():
      shutil.copytree(CHECKOUT / "rules", rules)
      for plugin in (TORTURE / "rules").iterdir():
        shutil.copytree(plugin, rules / plugin.name)

  def configure(self, durability):
    """Writes the configuration for the next start."""
    self.durability = durability
    sinks = "".join(f'{name} = {{ file = "{self.folder}/{name}.ndjson" }}, ' for name in ("ledger", "analytics", "rejected"))
    text = f'durability = "{durability}"\nworkers = 2\nsinks = {{ {sinks} }}\n{self.settings}\n'
    (self.folder / "ruled.conf.lua").write_text(text)

  def launch(self, control=None):
    """Starts the process without waiting for it."""
    environment = dict(os.environ)
    if control is not None:
      environment["LD_PRELOAD"] = str(LIBRARY)
      environment["TORTURE_CONTROL"] = str(control)
    words = [self.program, "--config", self.folder / "ruled.conf.lua", "--rules", self.folder / "rules",
             "--socket", self.socket, "--store", f"rocksdb:{self.store}"]
    with open(self.log, "ab") as log:
      log.write(f"---- start {self.starts}\n".encode())
      self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    self.starts += 1

  def await_serving(self, seconds=120):
    """Waits until it answers; raises Refused if it exits instead."""
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
      code = self.process.poll()
      if code is not None:
        self.process = None
        raise Refused(f"ruled ended with {code}:\n{self.words()}")
      try:
        client = Client(self.socket)
        try:
          if "result" in client.reply("health"):
            self.slowest_start = max(self.slowest_start, time.monotonic() - begun)
            return
        finally:
          client.close()
      except (OSError, ValueError):
        time.sleep(0.004)
    raise Refused(f"ruled does not answer within {seconds} s:\n{self.words()}")

  def start(self, control=None):
    self.launch(control)
    self.await_serving()

  @property
  def is_running(self):
    return self.process is not None and self.process.poll() is None

  def kill(self):
    """Kills it with SIGKILL and waits for its end."""
    if self.process is not None:
      self.process.kill()
      self.process.wait()
      self.process = None

  def end(self):
    """Sends SIGTERM and waits; returns the exit code."""
    self.process.send_signal(signal.SIGTERM)
    try:
      code = self.process.wait(60)
    except subprocess.TimeoutExpired:
      raise Violation(f"SIGTERM did not end the daemon within 60 s:\n{self.words()}") from None
    self.process = None
    return code

  def client(self):
    return Client(self.socket)

  def health(self):
    client = self.client()
    try:
      return client.reply("health")["result"]
    finally:
      client.close()

  def words(self, count=3000):
    """The end of its log."""
    with open(self.log, "rb") as log:
      log.seek(0, os.SEEK_END)
      log.seek(max(0, log.tell() - count))
      return log.read().decode(errors="replace")

  def files(self):
    """The names and sizes of the files in the store."""
    found = {}
    for path in sorted(self.store.rglob("*")):
      try:
        if path.is_file():
          found[str(path.relative_to(self.store))] = path.stat().st_size
      except OSError:
        continue
    return found

  def resident(self):
    """Memory in use, in MiB."""
    with open(f"/proc/{self.process.pid}/status") as status:
      for line in status:
        if line.startswith("VmRSS:"):
          return int(line.split()[1]) / 1024
    return 0.0
