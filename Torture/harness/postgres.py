"""PostgreSQL with two standbys, of which each commit waits for one; without Patroni, so that nobody takes the primary's place."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import subprocess
import sys

from .nodes import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from throwaway_postgres import PROGRAMS, Postgres, Standby, free_port, is_installed  # noqa: E402, F401

STANDBYS = ("one", "other")


class Servers:
  """A primary and two standbys in a folder; the primary listens at a further address if one is given."""

  def __init__(self, folder, address=None):
    self.folder = folder
    # A server ends with the thread that has started it.
    self.starter = concurrent.futures.ThreadPoolExecutor(1)
    settings = {
      "shared_buffers": "32MB", "max_connections": 60, "max_wal_senders": 6, "synchronous_standby_names": f"ANY 1 ({', '.join(STANDBYS)})",
      "max_wal_size": "256MB", "wal_retrieve_retry_interval": "200ms", "wal_keep_size": "256MB", "tcp_user_timeout": "5s",
    }
    self.servers = {}
    listen = f"127.0.0.1,{address}" if address else "127.0.0.1"
    primary = self.servers["primary"] = self.made(Postgres, folder / "primary", free_port(), listen_addresses=listen, **settings)
    if address:
      with open(primary.data / "pg_hba.conf", "a") as access:
        access.write(f"host all all {address}/24 trust\n")
      primary.sql("SELECT pg_reload_conf()")
    for name in STANDBYS:
      self.servers[name] = self.made(Standby, folder / name, name, primary, free_port(), **settings)
    # The URL for a node.
    self.store = (
      f"postgresql:///postgres?host={address or '127.0.0.1'}&port={primary.port}&user=postgres&connect_timeout=3&tcp_user_timeout=5000"
      "&sslmode=disable"
    )

  def made(self, kind, *words, **settings):
    return self.starter.submit(lambda: kind(*words, **settings)).result()

  def start(self, name):
    """Starts a server that was killed, and waits until it takes connections."""
    self.starter.submit(self.servers[name].start).result()

  def is_running(self, name):
    return self.servers[name].process.poll() is None

  def signal(self, name, number):
    """Sends a signal to all processes of a server."""
    main = self.servers[name].process
    with contextlib.suppress(OSError):
      children = pathlib.Path(f"/proc/{main.pid}/task/{main.pid}/children").read_text().split()
      main.send_signal(number)
      for child in children:
        with contextlib.suppress(ProcessLookupError):
          os.kill(int(child), number)

  def kill(self, name):
    """Kills all processes of a server, as a power cut would, but the system still writes its buffers."""
    self.signal(name, signal.SIGKILL)
    self.servers[name].process.wait()

  def sql(self, statement, seconds=10):
    """The result of a statement on the primary; None if it fails."""
    command = [PROGRAMS / "psql", self.servers["primary"].url, "-Atqc", statement]
    with contextlib.suppress(subprocess.TimeoutExpired):
      done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env={**os.environ, "PGCONNECT_TIMEOUT": "3"})
      if done.returncode == 0:
        return done.stdout.strip()
    return None

  def end(self):
    for name in self.servers:
      self.kill(name)
    self.starter.shutdown()
