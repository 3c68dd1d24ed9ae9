"""A PostgreSQL server in a folder of its own, with standbys if they are wanted: for tests, benchmarks and scripts/three-nodes."""
import contextlib
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")


def is_installed():
  return (PROGRAMS / "initdb").exists()


def free_port():
  """A TCP port of 127.0.0.1 that nothing listens on, below those that the kernel gives to whoever connects or asks for any port."""
  while True:
    port = random.randrange(10_000, 32_768)
    with socket.socket() as probe, contextlib.suppress(OSError):
      probe.bind(("127.0.0.1", port))
      return port


def as_other_user():
  """The words that run a program as PostgreSQL wants it, which refuses root: in a namespace where root has the number of another
  user.

  So the files are root's, and may be in a folder that nobody else can enter.
  """
  if os.getuid() != 0:
    return []
  names = {entry.pw_name for entry in pwd.getpwall()}
  user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
  return ["unshare", "-U", f"--map-user={user.pw_uid}", f"--map-group={user.pw_gid}"]


class Postgres:
  """A server, which ends with the program that has started it, whatever ends that."""

  def __init__(self, folder, port=None, **settings):
    """A server in a folder, which is used again if it has one. It listens on a Unix socket there, and on a port of 127.0.0.1 if one is given."""
    self.folder, self.port = pathlib.Path(folder), port or 5432
    self.data = self.folder / "data"
    self.url = f"postgresql:///postgres?host={self.folder}&port={self.port}&user=postgres"
    if not (self.data / "PG_VERSION").exists():
      shutil.rmtree(self.data, ignore_errors=True)
      self.folder.mkdir(parents=True, exist_ok=True)
      self.make()
    settings = {"listen_addresses": "127.0.0.1" if port else "", "port": self.port, "unix_socket_directories": self.folder, **settings}
    (self.data / "postgresql.auto.conf").write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
    self.start()

  def make(self):
    self.run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "--no-locale")

  def run(self, program, *words):
    done = subprocess.run([*as_other_user(), PROGRAMS / program, *words], capture_output=True, text=True)
    if done.returncode != 0:
      raise RuntimeError(f"{program}: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()

  def start(self):
    """Starts the server, and waits until it takes connections. One that was killed may take a moment to be gone."""
    end = time.monotonic() + 180
    while True:
      with open(self.folder / "log", "a") as log:
        command = [*as_other_user(), "setpriv", "--pdeathsig", "QUIT", PROGRAMS / "postgres", "-D", self.data]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
      while self.process.poll() is None:
        if subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]).returncode == 0:
          return
        time.sleep(0.05)
      if time.monotonic() > end:
        raise RuntimeError(f"PostgreSQL does not start: {(self.folder / 'log').read_text()[-2000:]}")
      time.sleep(0.2)

  def stop(self, number=signal.SIGINT):
    """Ends the server: in order, or at once with SIGQUIT."""
    if self.process.poll() is None:
      self.process.send_signal(number)
      self.process.wait(180)

  def sql(self, statement):
    """The result of a statement."""
    command = [PROGRAMS / "psql", self.url, "-v", "ON_ERROR_STOP=1", "-Atqc", statement]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Standby(Postgres):
  """A server that follows another."""

  def __init__(self, folder, name, primary, port, **settings):
    self.name, self.primary = name, primary
    super().__init__(folder, port, **settings)

  def make(self):
    self.run("pg_basebackup", "-D", self.data, "-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "postgres", "-c", "fast", "--no-sync")
    (self.data / "standby.signal").touch()

  def start(self):
    with open(self.data / "postgresql.auto.conf", "a") as settings:
      settings.write(f"primary_conninfo = 'host=127.0.0.1 port={self.primary.port} user=postgres application_name={self.name}'\n")
    super().start()
