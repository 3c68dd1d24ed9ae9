"""Nodes of a cluster over PostgreSQL with two synchronous standbys, all on this host."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from . import place, servers

sys.path.insert(0, str(place.CHECKOUT / "scripts"))
import throwaway_postgres  # noqa: E402

STANDBYS = ("s1", "s2")
STREAKS = (place.BENCHMARKS / "rules" / "streaks",)


class Database:
  """A primary whose commits wait for both of its standbys."""

  def __init__(self, folder):
    self.folder = folder
    self.primary = throwaway_postgres.Postgres(folder / "primary", throwaway_postgres.free_port())
    self.standbys = [
      throwaway_postgres.Standby(folder / name, name, self.primary, throwaway_postgres.free_port()) for name in STANDBYS]
    self.primary.sql(f"ALTER SYSTEM SET synchronous_standby_names = '2 ({', '.join(STANDBYS)})'")
    self.primary.sql("SELECT pg_reload_conf()")
    self.await_standbys()

  def await_standbys(self):
    wanted = f"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    wait(lambda: self.number(wanted) == len(STANDBYS), "the standbys don't become synchronous")

  def number(self, statement):
    return float(self.primary.sql(statement) or 0)

  @property
  def sequence(self):
    return int(self.number("SELECT sequence FROM ruled.logs"))

  @property
  def processes(self):
    """The processes of all servers."""
    parents = [server.process.pid for server in (self.primary, *self.standbys)]
    return parents + [int(child) for parent in parents for child in
                      pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]

  def stop(self):
    for server in (self.primary, *self.standbys):
      server.stop(signal.SIGQUIT)

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.stop()
    shutil.rmtree(self.folder, ignore_errors=True)


class Node(servers.Ruled):
  """A node, as a daemon that is measured like any other."""

  def __init__(self, name, cluster, lease="2s"):
    self.node = name
    tls = cluster.folder / "tls"
    snapshots = f', snapshots = "{cluster.snapshots}", snapshot_every = "{cluster.every}"' if cluster.snapshots else ""
    settings = (
      f'store = "{cluster.database.primary.url}"\n'
      f'cluster = {{ node = "{name}", folder = "{cluster.folder / name}/store", lease = "{lease}", '
      f'listen = "127.0.0.1:{throwaway_postgres.free_port()}", certificate = "{tls}/{name}/node.pem", key = "{tls}/{name}/node.key", '
      f'authority = "{tls}/authority.pem"{snapshots} }}')
    super().__init__(f"node {name}", cluster.folder / name, "commit", plugins=STREAKS, settings=settings)

  @property
  def health(self):
    """The node's status; it closes its connections when it becomes the owner."""
    return self.result("health") or {"behind": None}

  def result(self, method, **params):
    """The result of a method; None if there is none."""
    try:
      return (self.reply(method, **params) or {}).get("result")
    except ConnectionError:
      return None

  @property
  def is_owner(self):
    return "behind" not in self.health

  def commits(self):
    """How many commits the node has written as the owner, and how many seconds they took together."""
    figures = dict(line.rsplit(" ", 1) for line in self.metrics().splitlines() if line.startswith("ruled_cluster_commit_seconds_"))
    return [float(figures.get(f"ruled_cluster_commit_seconds_{name}", 0)) for name in ("count", "sum")]

  def metrics(self):
    command = ["curl", "-sS", "--fail", "--unix-socket", self.socket, "http://localhost/metrics"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

  def kill(self):
    self.process.send_signal(signal.SIGKILL)
    self.process.wait()


class Cluster:
  """A new database with nodes, of which the first one owns the log."""

  def __init__(self, folder, count, names="abcd", snapshots=False, every="20s", lease="2s"):
    self.folder, self.every, self.lease = folder, every, lease
    self.nodes, self.database = [], None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    self.snapshots = folder / "snapshots" if snapshots else None
    if snapshots:
      self.snapshots.mkdir()
    try:
      subprocess.run([place.CHECKOUT / "examples/cluster/make-certificates", folder / "tls", *[f"{name}=127.0.0.1" for name in names]],
                     check=True)
      self.database = Database(folder / "db")
      for name in names[:count]:
        self.join(name)
    except BaseException:
      self.stop()
      raise

  def join(self, name):
    """Starts a further node with an empty store; gives it once it serves or follows."""
    node = Node(name, self, self.lease)
    self.nodes.append(node)
    node.start()
    is_first = len(self.nodes) == 1
    wait(lambda: node.is_owner if is_first else node.health.get("owner_reachable"), f"node {name} does not come up")
    return node

  @property
  def owner(self):
    return next(node for node in self.nodes if node.process.poll() is None and node.is_owner)

  def stop(self):
    for node in reversed(self.nodes):
      node.stop()
    if self.database:
      self.database.stop()
    shutil.rmtree(self.folder, ignore_errors=True)
    os.sync()  # so that the removal does not hold up the next measurement

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.stop()


def wait(condition, problem, seconds=120):
  """Waits until a condition holds; gives how many seconds that took."""
  begun = time.monotonic()
  while not condition():
    if time.monotonic() - begun > seconds:
      place.fail(problem)
    time.sleep(0.01)
  return time.monotonic() - begun


def bare(database, seconds, connections=1, logs="one", rate=None):
  """The commits of a C program to the same database, with the batches that the nodes have written last, so many a second if a rate is given."""
  command = [place.BUILD / "commits", database.primary.url, str(seconds), str(connections), logs, *([f"{rate:.2f}"] if rate else [])]
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode:
    place.fail(done.stderr.strip())
  return json.loads(done.stdout)


def can_run():
  """Whether PostgreSQL is there, with the headers of its client library."""
  return throwaway_postgres.is_installed() and os.path.exists("/usr/include/postgresql/libpq-fe.h")
