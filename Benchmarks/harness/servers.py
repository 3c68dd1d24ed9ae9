"""The servers under test: each starts with a new store in its own folder and listens on a Unix socket only."""
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from . import place


class Server:
  """One running server. `durability` is "commit" (synced before the reply) or "interval" (synced each second)."""

  protocol = ""

  def __init__(self, name, folder, durability, processor=None):
    self.name = name
    self.folder = pathlib.Path(folder)
    self.durability = durability
    self.processor = processor
    self.process = None
    self.started_in = 0.0

  @property
  def socket(self):
    return self.folder / "socket"

  def command(self):
    raise NotImplementedError

  def prepare(self):
    """Runs once it answers."""

  def start(self, fresh=True):
    if fresh:
      shutil.rmtree(self.folder, ignore_errors=True)
      self.folder.mkdir(parents=True)
    command = [str(part) for part in self.command()]
    if self.processor is not None:
      command = ["taskset", "-c", str(self.processor)] + command
    begun = time.monotonic()
    with open(self.folder / "log", "ab") as log:
      self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder)
    self.await_socket()
    self.started_in = time.monotonic() - begun
    self.prepare()
    return self

  def await_socket(self):
    for _ in range(6000):
      if self.process.poll() is not None:
        place.fail(f"{self.name} ended at start: {(self.folder / 'log').read_text()[-2000:]}")
      try:
        with socket.socket(socket.AF_UNIX) as probe:
          probe.connect(str(self.socket))
          return
      except OSError:
        time.sleep(0.01)
    place.fail(f"{self.name} does not answer")

  @property
  def pid(self):
    return self.process.pid

  def memory_mib(self, field="VmRSS"):
    for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
      if line.startswith(field + ":"):
        return int(line.split()[1]) / 1024
    return 0.0

  def disk_mib(self):
    files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != "log"]
    return sum(path.stat().st_blocks * 512 for path in files) / 2**20

  def stop(self, remove=True):
    if self.process is not None and self.process.poll() is None:
      self.process.send_signal(signal.SIGTERM)
      try:
        self.process.wait(30)
      except subprocess.TimeoutExpired:
        self.process.kill()
        self.process.wait()
    if remove:
      shutil.rmtree(self.folder, ignore_errors=True)

  def __enter__(self):
    return self.start()

  def __exit__(self, *_):
    self.stop()


class Redis(Server):
  protocol = "redis"

  def command(self):
    sync = "always" if self.durability == "commit" else "everysec"
    return ["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.folder, "--save", "",
            "--appendonly", "yes", "--appendfsync", sync]

  def prepare(self):
    with open(place.BENCHMARKS / "peers" / "redis.lua", "rb") as source:
      subprocess.run(["redis-cli", "-s", self.socket, "-x", "FUNCTION", "LOAD"], stdin=source, check=True,
                     capture_output=True)


class Tarantool(Server):
  protocol = "tarantool"

  def command(self):
    mode = "fsync" if self.durability == "commit" else "write"
    return ["tarantool", place.BENCHMARKS / "peers" / "tarantool.lua", self.folder, mode]

  def prepare(self):
    """The socket exists before the functions do: the last line of the script creates the file `ready`."""
    for _ in range(500):
      if (self.folder / "ready").exists():
        return
      time.sleep(0.01)
    place.fail("Tarantool does not become ready")


class Ruled(Server):
  """ruled with copies of the given plugin folders as its rules, `lib` among them if they need it."""

  protocol = "ruled"

  def __init__(self, name, folder, durability, processor=None, plugins=(), program=None, settings=""):
    super().__init__(name, folder, durability, processor)
    self.plugins = plugins
    self.program = program or place.RULED
    self.settings = settings

  def await_socket(self):
    """The socket may be open before the daemon serves: wait for the first answer."""
    super().await_socket()
    self.call("state", subject="user:00000000")

  def reply(self, method, **params):
    """The reply to a call of a method, which may be an error; None if the daemon closes the connection instead."""
    with socket.socket(socket.AF_UNIX) as asking, asking.makefile("rb") as replies:
      asking.settimeout(120)
      asking.connect(str(self.socket))
      asking.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
      line = replies.readline()
    return json.loads(line) if line else None

  def call(self, method, **params):
    """The reply to a call of a method, which may be an error."""
    reply = self.reply(method, **params)
    if reply is None:
      place.fail(f"{self.name} does not answer")
    return reply

  def ask(self, method, **params):
    """The result of a method."""
    reply = self.call(method, **params)
    if "result" not in reply:
      place.fail(f"{self.name}: {method}: {reply['error']['message']}")
    return reply["result"]

  def tool(self, *words):
    """The output of rulectl for these words."""
    done = subprocess.run([place.RULECTL, "--socket", self.socket, *words], capture_output=True, text=True)
    if done.returncode:
      place.fail(f"rulectl {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout

  @property
  def rules(self):
    return self.folder / "rules"

  def command(self):
    if not self.rules.exists():
      for plugin in self.plugins:
        shutil.copytree(plugin, self.rules / pathlib.Path(plugin).name)
    configuration = self.folder / "ruled.conf.lua"
    configuration.write_text(
      f'socket = "{self.socket}"\nrules = "{self.rules}"\nstore = "rocksdb:{self.folder}/store"\n'
      f'durability = "{self.durability}"\n{self.settings}\n')
    return [self.program, "--config", configuration]


def streaks(folder, durability, processor=None, **more):
  plugin = place.BENCHMARKS / "rules" / "streaks"
  return Ruled("ruled", folder, durability, processor, plugins=[plugin], **more)


def gamification(folder, durability, processor=None, **more):
  shipped = place.CHECKOUT / "rules"
  return Ruled("ruled, gamification", folder, durability, processor,
               plugins=[shipped / "gamification", shipped / "lib"], **more)
