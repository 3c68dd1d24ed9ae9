"""Many short faults, several at a time, for three nodes over PostgreSQL: to the nodes, the ways between them, the database, disks and clocks."""

import collections
import contextlib
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time

from .daemon import LIBRARY, build_library
from .faults import Fault, Faults
from .network import Network, is_allowed
from .nodes import ROOT, Failure, Node, Services, copy_rules, say, wait
from .postgres import STANDBYS, Servers
from .streams import PLUGIN

LEASE = 1
# How many batches a part of the log has: so few that it is cut while faults happen.
PART = 200
NAMES = ("a", "b", "c")


def run(*words):
  subprocess.run(list(map(str, words)), check=True, capture_output=True)


class Place:
  """Three nodes over PostgreSQL with two standbys in a folder: as root in a network of namespaces, with disks that can be filled."""

  def __init__(self, folder, programs, seed, other_programs=None):
    """The nodes run `programs`; with `other_programs`, of another version, they change between the two."""
    self.folder, self.programs, self.other_programs = folder, programs, other_programs
    self.network = Network(folder, NAMES) if is_allowed() else None
    if not self.network:
      say("nothing is cut or filled: that takes root")
    self.services = None
    self.nodes, self.disks, self.calls, self.database = [], [], {}, None
    try:
      servers = folder / "db"
      if self.network:
        self.add_disk(servers / "primary", 3072)  # an event takes 750 bytes, and the log is cut late
      self.database = Servers(servers, self.network and self.network.addresses[""])
      self.services = Services(self.nodes, seconds=0.2)
      copy_rules(folder)
      (folder / "rules/stream").mkdir()
      self.write_rules()
      build_library()
      snapshots = folder / "snapshots"
      snapshots.mkdir()
      if self.network:
        self.make_certificates()
      for number, name in enumerate(NAMES):
        self.add(name, seed + number, snapshots)
        if number == 0:
          self.divide()
    except BaseException:
      self.remove()
      raise

  def make_certificates(self):
    """Makes certificates two days old, so that they are valid also where a clock is set back by a day."""
    calls = Faults(self.folder / "calls", 0, collections.Counter())
    calls.set_clock(-2 * 86_400)
    addresses = [f"{name}={self.network.addresses[name]}" for name in NAMES]
    run(*self.preloaded(calls), ROOT / "examples/cluster/make-certificates", self.folder / "tls", *addresses)

  @staticmethod
  def preloaded(calls):
    """The words before a command whose calls and clock `calls` has."""
    return ["env", f"TORTURE_CONTROL={calls.path}", f"LD_PRELOAD={LIBRARY}"]

  def add(self, name, seed, snapshots):
    """Starts a node with a disk, a network, a clock and failing calls of its own."""
    place = self.folder / name
    place.mkdir()
    more = {"snapshots": snapshots, "snapshot_every": "2s"}
    prefix = []
    if self.network:
      prefix = self.network.prefix(name)
      self.add_disk(place / "store", 512)
      tls = self.folder / "tls"
      more.update({
        "listen": f"{self.network.addresses[name]}:7433", "certificate": tls / name / "node.pem", "key": tls / name / "node.key",
        "authority": tls / "authority.pem",
      })
    self.calls[name] = Faults(place / "calls", seed, collections.Counter())
    prefix += self.preloaded(self.calls[name])
    store = f"{self.database.store}&application_name={name}"
    self.nodes.append(Node(name, self.folder, store, self.programs, prefix, lease=LEASE, **more))

  def add_disk(self, folder, mib):
    folder.mkdir(parents=True)
    run("mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", folder)
    self.disks.append(folder)

  def divide(self):
    """Gives the log, which is empty, small parts."""
    node = self.nodes.pop()
    wait(lambda: node.status == "ready", 60, f"no node comes up; see {node.folder}/log")
    node.end(signal.SIGTERM)
    names = self.sql("SELECT string_agg(inhrelid::regclass::text, ', ') FROM pg_inherits WHERE inhparent = 'ruled.commits'::regclass")
    self.sql(
      (f"DROP TABLE {names}; " if names else "") +
      "UPDATE ruled.logs SET epoch = 0, owner = NULL, incarnation = NULL, sequence = 0, digest = ''; "
      f"UPDATE ruled.cluster SET part = {PART}; DELETE FROM ruled.snapshots; DELETE FROM ruled.nodes"
    )
    self.empty(node)
    shutil.rmtree(self.folder / "snapshots")
    (self.folder / "snapshots").mkdir()
    self.nodes.append(node)
    node.start()

  def write_rules(self):
    """Writes the plugin of the streams as another revision, in one step."""
    self.revision = getattr(self, "revision", 0) + 1
    new = self.folder / "plugin.lua"
    new.write_text(f"{PLUGIN}-- Revision {self.revision}.\n")
    new.rename(self.folder / "rules/stream/plugin.lua")

  def sql(self, statement):
    """The result of a statement in the cluster's database."""
    return self.database.sql(statement)

  @staticmethod
  def empty(node):
    """Removes the store of a node, which must not run."""
    for path in (node.folder / "store").glob("*"):
      with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()

  def is_whole(self):
    return sorted(str(node.status) for node in self.nodes) == ["ready", "standby", "standby"]

  def remove(self):
    if self.services:
      self.services.end()
    for node in self.nodes:
      node.signal(signal.SIGCONT)
      node.end(signal.SIGKILL)
    if self.database:
      self.database.end()
    for disk in self.disks:
      run("umount", "-l", disk)
    if self.network:
      self.network.remove()


class DenseFaults:
  """Each method makes a fault, waits, mends it, and gives a sentence for it; None if there was nothing to make it with."""

  def __init__(self, place, choice):
    self.place, self.choice = place, choice
    self.nodes, self.network, self.database = place.nodes, place.network, place.database
    # Held by who kills a primary, until it runs again.
    self.starting = threading.Lock()
    kinds = [self.kill_owner, self.kill_owner, self.stop_owner, self.stop_owner, self.expel_owner, self.expel_owner, self.end_owner]
    kinds += [self.kill_follower, self.stop_follower, self.end_follower, self.drain, self.drain_follower, self.reload, self.end_sessions, self.end_sessions, self.cancel_waits, self.stop_standby]
    kinds += [self.stop_standbys, self.kill_database, self.fail_calls, self.delay_calls, self.rejoin, self.stop_database, self.kill_two]
    kinds += [self.set_clock] + [self.interrupt_commit] * 3
    if self.network:
      kinds += [self.cut_from_database] * 2 + [self.lose_answers] * 2 + [self.cut_apart, self.cut_follower_from_database]
      kinds += [self.fill_disk, self.fill_database]
    if place.other_programs:
      kinds += [self.change_version] * 3
    self.kinds = kinds

  def pause(self, least, most):
    time.sleep(self.choice.uniform(least, most))

  def owner(self):
    name = self.place.sql("SELECT owner FROM ruled.logs")
    return next((node for node in self.nodes if node.name == name), None)

  def follower(self):
    owner = self.owner()
    return self.choice.choice([node for node in self.nodes if node is not owner])

  # Nodes

  def kill_owner(self):
    if node := self.owner():
      node.end(signal.SIGKILL)
      return f"killed the owner {node.name}"

  def end_owner(self):
    if node := self.owner():
      node.end(signal.SIGTERM)
      return f"ended the owner {node.name}"

  def kill_follower(self):
    node = self.follower()
    node.end(signal.SIGKILL)
    return f"killed the follower {node.name}"

  def kill_two(self):
    nodes = self.choice.sample(self.nodes, 2)
    for node in nodes:
      node.end(signal.SIGKILL)
    return f"killed {nodes[0].name} and {nodes[1].name}"

  def stop(self, node, words, seconds=None):
    seconds = seconds or self.choice.uniform(0.1, 3 * LEASE)
    node.signal(signal.SIGSTOP)
    time.sleep(seconds)
    node.signal(signal.SIGCONT)
    return f"stopped {words} {node.name} for {seconds:.1f} s"

  def stop_owner(self):
    if node := self.owner():
      return self.stop(node, "the owner")

  def stop_follower(self):
    return self.stop(self.follower(), "the follower")

  def end_follower(self):
    node = self.follower()
    node.end(signal.SIGTERM)
    return f"ended the follower {node.name}"

  def reload(self):
    if node := self.owner():
      self.place.write_rules()
      reply = node.call("reload", seconds=20)
      return f"reloaded the rules, {'done' if reply and 'result' in reply else 'refused'}"

  def expel_owner(self):
    """Two owners at once: the others believe that the lease of the owner, which is well, is over."""
    if node := self.owner():
      self.place.sql(f"UPDATE ruled.nodes SET lease = to_timestamp(0) WHERE node = '{node.name}'")
      return f"ended the lease of the owner {node.name}, which goes on"

  def drain(self):
    if node := self.owner():
      return self.drain_for_a_while(node, "the owner")

  def drain_follower(self):
    return self.drain_for_a_while(self.follower(), "the follower")

  def drain_for_a_while(self, node, words):
    self.place.sql(f"UPDATE ruled.nodes SET drained = true WHERE node = '{node.name}'")
    self.pause(0.1, 2 * LEASE)
    wait(lambda: self.place.sql(f"UPDATE ruled.nodes SET drained = false WHERE node = '{node.name}'") is not None, 60, "no node is undrained")
    return f"drained {words} {node.name}"

  def rejoin(self):
    """A follower loses its store, and starts from a snapshot while the log is cut."""
    node = self.follower()
    held = self.place.services.held
    if node in held:
      return None
    held.add(node)
    try:
      time.sleep(0.5)  # the services may be about to start it
      node.end(signal.SIGKILL)
      self.place.empty(node)
    finally:
      held.discard(node)
    return f"killed the follower {node.name}, and removed its store"

  def change_version(self):
    """Ends a node in order, and starts it with the program of the other version."""
    node = self.choice.choice(self.nodes)
    node.programs = self.place.programs if node.programs is self.place.other_programs else self.place.other_programs
    node.end(signal.SIGTERM)
    return f"changed the version of {node.name} to {'the other one' if node.programs is self.place.other_programs else 'its own'}"

  # The database

  def end_sessions(self):
    if node := self.owner():
      times = self.choice.randrange(1, 5)
      for _ in range(times):
        self.database.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{node.name}'")
        self.pause(0, 0.2)
      return f"ended the sessions of the owner {node.name}, {times} times"

  def freeze(self, servers):
    for server in servers:
      self.database.signal(server, signal.SIGSTOP)

  def thaw(self, servers):
    for server in servers:
      self.database.signal(server, signal.SIGCONT)

  def stop_servers(self, servers, seconds):
    self.freeze(servers)
    time.sleep(seconds)
    self.thaw(servers)

  def stop_standby(self):
    server = self.choice.choice(STANDBYS)
    self.stop_servers([server], self.choice.uniform(0.2, 3))
    return f"stopped the standby {server}"

  def stop_standbys(self):
    self.stop_servers(STANDBYS, self.choice.uniform(0.2, 3))
    return "stopped both standbys"

  def cancel_waits(self):
    self.freeze(STANDBYS)
    count = 0
    for _ in range(self.choice.randrange(1, 6)):
      self.pause(0, 0.3)
      found = self.database.sql("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
      count += int(found or 0)
    self.thaw(STANDBYS)
    return f"cancelled {count} waits for standbys" if count else None

  def stop_database(self):
    seconds = self.choice.uniform(0.2, 3)
    self.stop_servers(["primary"], seconds)
    return f"stopped the primary for {seconds:.1f} s"

  def kill_database(self):
    with self.starting:
      self.database.kill("primary")
      self.pause(0, 2)
      self.database.start("primary")
    return "killed the primary, and started it again"

  # Ways

  def cut(self, ways, words):
    seconds = self.choice.uniform(0.2, 3 * LEASE)
    for sender, receiver in ways:
      self.network.cut(sender, receiver)
    time.sleep(seconds)
    for sender, receiver in ways:
      self.network.heal(sender, receiver)
    return f"cut {words} for {seconds:.1f} s"

  def cut_from_database(self):
    if node := self.owner():
      return self.cut([(node.name, ""), ("", node.name)], f"the owner {node.name} off from the database")

  def cut_follower_from_database(self):
    node = self.follower()
    return self.cut([(node.name, ""), ("", node.name)], f"the follower {node.name} off from the database")

  def lose_answers(self):
    if node := self.owner():
      return self.cut([("", node.name)], f"the way of answers from the database to the owner {node.name}")

  def cut_apart(self):
    one, other = self.choice.sample(NAMES, 2)
    ways = self.choice.choice([[(one, other), (other, one)], [(one, other)]])
    return self.cut(ways, f"{one} off from {other}, {'one way' if len(ways) == 1 else 'both ways'}")

  # Disks and clocks

  def fill(self, folder):
    """Leaves no space on a disk for a while."""
    filler = folder / "filler"
    with contextlib.suppress(OSError):
      with open(filler, "wb", buffering=0) as file:
        while file.write(bytes(1 << 20)):
          pass
    self.pause(0.2, 3)
    filler.unlink(missing_ok=True)

  def fill_disk(self):
    node = self.choice.choice(self.nodes)
    self.fill(node.folder / "store")
    return f"filled the disk of {node.name}"

  def fill_database(self):
    """The primary ends when it can't write its log."""
    with self.starting:
      self.fill(self.database.folder / "primary")
      ended = not self.database.is_running("primary")
      if ended:
        self.database.start("primary")
    return f"filled the disk of the primary, which {'ended, and was started again' if ended else 'went on'}"

  def fail_calls(self):
    node = self.choice.choice(self.nodes)
    calls = self.choice.choice([("fdatasync", "fsync"), ("pwrite", "write"), ("open",)])
    fault = Fault(calls, f"{node.folder}/store/*", error=self.choice.choice(["EIO", "ENOSPC"]), skip=self.choice.randrange(20))
    return self.with_calls(node, fault)

  def delay_calls(self):
    node = self.choice.choice(self.nodes)
    fault = Fault(
      ("fdatasync", "fsync", "pwrite", "write"), f"{node.folder}/store/*", action="delay", times=-1,
      milliseconds=self.choice.choice([5, 50, 500]),
    )
    return self.with_calls(node, fault)

  def with_calls(self, node, fault):
    page = self.place.calls[node.name]
    if page.count:
      return None
    page.arm(fault)
    self.pause(0.5, 3)
    hits = sum(page.hits())
    page.clear()
    return f"{node.name}: {fault}, hit {hits} calls" if hits else None

  def interrupt_commit(self):
    """Kills or stops the owner at a step of a commit: the batch leaves for the database, the answer comes, it is written to the node's own log."""
    node = self.owner()
    page = node and self.place.calls[node.name]
    if not page or page.count:
      return None
    port = f"port:{self.database.servers['primary'].port}"
    step, calls, pattern = self.choice.choice([
      ("it sends a batch to the database", "send", port), ("it reads the database's answer", "receive", port),
      ("it writes a batch to its own log", ("pwrite", "write"), f"{node.folder}/store/*.log"),
    ])
    action = self.choice.choice(["kill_before", "kill_after", "stop_before", "stop_after"])
    page.arm(Fault(calls, pattern, action=action, skip=self.choice.randrange(30)))
    end = time.monotonic() + 3
    while not sum(page.hits()) and time.monotonic() < end:
      time.sleep(0.01)
    hits = sum(page.hits())
    page.clear()
    verb, moment = action.split("_")
    if verb == "stop":
      if hits:
        self.pause(0.1, 3 * LEASE)
      for _ in range(2):  # it may have been hit just now
        node.signal(signal.SIGCONT)
        time.sleep(0.1)
    return hits and f"{'killed' if verb == 'kill' else 'stopped'} the owner {node.name} {moment} {step}"

  def set_clock(self):
    """Sets the clock of a node's host hours off, until it is set again."""
    node = self.choice.choice(self.nodes)
    offset = self.choice.choice([0, 1, -1, 3600, -3600, 86_400, -86_400, self.choice.randrange(-10_000, 10_000)])
    self.place.calls[node.name].set_clock(offset)
    return f"set the clock of {node.name} {offset:+d} s off"


class Hands:
  """Make faults at the same time, each one after the other, until so many were made in all."""

  def __init__(self, faults, history, seed, kinds, count=2):
    self.faults, self.history, self.kinds, self.wanted = faults, history, kinds, 0
    self.made, self.sum, self.failure = collections.Counter(), 0, None
    self.lock = threading.Lock()
    self.choices = [random.Random(f"{seed}-hand-{number}") for number in range(count)]

  def make(self, wanted, until):
    """Makes faults until there were `wanted` in all, or the time is over; ends when all are mended."""
    self.wanted = wanted
    threads = [threading.Thread(target=self.run, args=(choice, until), daemon=True) for choice in self.choices]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    if self.failure:
      raise self.failure

  def run(self, choice, until):
    try:
      while not self.failure and self.sum < self.wanted and time.monotonic() < until:
        kind = choice.choice(self.kinds)
        words = kind()
        if not words:
          continue
        with self.lock:
          self.sum += 1
          self.made[kind.__name__] += 1
          say(f"{self.sum}: {words}")
        # Faults come upon a cluster that serves.
        before = sum(self.history().progress)
        wait(lambda: self.failure or sum(self.history().progress) > before, 90, f"no client goes on after: {words}")
        time.sleep(choice.uniform(0, 0.5))
    except Exception as error:
      text = str(error) if isinstance(error, Failure) else f"a fault can't be made: {error!r}"
      place = self.faults.place
      if not place.database.is_running("primary"):
        free = shutil.disk_usage(place.database.folder / "primary").free >> 20
        text += f"; the primary in {place.database.folder} has ended, and its disk has {free} MiB left"
      self.failure = Failure(text)
