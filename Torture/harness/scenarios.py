"""Named faults, each of which once lost data. Each starts with a new store."""
import shutil
import time

from . import disks
from .daemon import Refused, Violation
from .faults import SYNCS, WRITES, Fault
from .rounds import FOLDERS, LOG, MANIFEST, TABLES

ALL = {}


def scenario(function):
  ALL[function.__name__.replace("_", "-")] = function
  return function


def on_disk(function):
  function.needs_disk = True
  return function


def rotate(rounds):
  """Makes the daemon begin a new segment, which is how it repairs a failed write."""
  rounds.faults.arm(Fault("pwrite", LOG))
  rounds.work(2, None, lambda: sum(rounds.faults.hits()) > 0)
  rounds.faults.clear()
  rounds.recover()


def kill(rounds):
  """Ends all faults, kills the daemon, and checks the store."""
  rounds.daemon_must_live()
  rounds.daemon.kill()
  rounds.faults.clear()
  rounds.figures["kills"] += 1
  rounds.restart()


def finish(rounds):
  """Compares all accounts after one more kill."""
  kill(rounds)
  rounds.quiet()
  rounds.daemon.kill()
  shutil.rmtree(rounds.daemon.folder)


@scenario
def manifest_sync(session):
  """One sync of RocksDB's MANIFEST fails while a segment of the log is flushed; a restart serves everything."""
  rounds = session.rounds("commit")
  rounds.begin()
  for action, skip in session.some([(action, skip) for skip in range(5) for action in ("fail", "drop")], 6):
    rounds.what = f"sync {skip} of the MANIFEST that fails ({action})"
    rounds.faults.arm(Fault(SYNCS, MANIFEST, action=action, skip=skip), Fault("pwrite", LOG))
    rounds.work(0.5, None, lambda: rounds.faults.hits()[0] > 0)
    rounds.recover()
    kill(rounds)
  finish(rounds)


@scenario
def refused_is_gone(session):
  """A sync or write of the log fails, and so does its repair; events that were answered `unavailable` do not come back."""
  rounds = session.rounds("commit")
  rounds.begin()
  first = [(SYNCS, "fail"), (SYNCS, "drop"), (SYNCS, "fail_after"), ("pwrite", "fail")]
  later = [(SYNCS, -1), (("pwrite", *SYNCS, "open", "rename"), -1), ("pwrite", -1), ("pwrite", 1)]
  for (calls, action), (others, times) in session.some([(one, other) for other in later for one in first], 4):
    rounds.what = f"{calls} that fails ({action}) and {others} that fail behind it ({times})"
    rounds.faults.arm(Fault(calls, LOG, action=action, skip=5, arms=2), Fault(others, LOG, times=times, waits=True))
    rounds.work(1.5, None, lambda: rounds.faults.hits()[1] > 0)
    kill(rounds)
  finish(rounds)


@scenario
def interval_sync(session):
  """Syncs fail while commits do not wait for them; acknowledged events are there after a kill."""
  rounds = session.rounds("interval", padding=0)
  rounds.begin()
  for _ in session.some(range(4), 1):
    rounds.what = "syncs that fail while no commit waits for them"
    rounds.faults.arm(Fault(SYNCS, LOG, action="drop", times=-1, chance=0.5))
    rounds.work(1.5)
    rounds.faults.clear()
    rounds.recover()
    kill(rounds)
  finish(rounds)


@scenario
def interval_repair(session):
  """A kill during the repair of the log, when commits do not wait for syncs; events acknowledged before are there."""
  rounds = session.rounds("interval", padding=0)
  rounds.begin()
  moments = [(calls, skip) for skip in (1, 2, 0, 3) for calls in ("pwrite", SYNCS)]
  for first, (calls, skip) in session.some([(first, moment) for moment in moments for first in ("pwrite", SYNCS)], 4):
    rounds.what = f"a kill before {calls} {skip} behind a {first} that failed"
    rounds.work(0.2)
    rounds.faults.arm(Fault(first, LOG, skip=5, arms=2), Fault(calls, LOG, action="kill_before", skip=skip, waits=True))
    rounds.work(1.5, rounds.daemon.kill, lambda: not rounds.daemon.is_running)
    rounds.daemon.kill()
    rounds.faults.clear()
    rounds.restart()
  finish(rounds)


@scenario
def flush_fails(session):
  """Flushing to RocksDB fails: log and memory stay bounded, `health` reports it, reads work, and it recovers by itself."""
  rounds = session.rounds("commit", padding=200_000)
  rounds.what = "a flush that keeps failing"
  rounds.begin()
  rounds.work(0.1)
  rounds.faults.arm(Fault(WRITES, TABLES, "ENOSPC", times=-1))
  for _ in session.some(range(40), 6):
    rounds.work(0.8, is_patient=False)
    sizes = [size for name, size in rounds.daemon.files().items() if name.startswith("log/")]
    mib, memory, health = sum(sizes) / (1 << 20), rounds.daemon.resident(), rounds.daemon.health()
    if len(sizes) > 10 or mib > 700 or memory > 900:
      raise Violation(f"log and memory grow while nothing is flushed: {len(sizes)} files of {mib:.0f} MiB, {memory:.0f} MiB in memory; "
                      f"health {health}")
  if health["status"] != "degraded":
    raise Violation(f"nothing is flushed, with {mib:.0f} MiB in the log, and health says {health}")
  client = rounds.daemon.client()
  # A read beside a commit that just failed is told to ask again: messages and timers go on committing.
  end = time.monotonic() + 180
  hitter = {"subject": rounds.load.hitters()[0].name}
  while "ask again" in str((reply := client.reply("state", hitter)).get("error")) and time.monotonic() < end:
    time.sleep(0.02)
  if "error" in reply:
    raise Violation(f"reads fail while nothing is flushed: {reply}")
  client.close()
  rounds.faults.clear()
  rounds.recover()
  rounds.judge.restarted()
  rounds.work(0.2)
  finish(rounds)


@scenario
def failing_reads(session):
  """Reads of RocksDB's files fail or return wrong bits for a while: it is reported, nothing is lost, and it recovers by itself."""
  faults = Fault("pread", TABLES, times=-1, chance=0.5), Fault("pread", TABLES, action="flip", times=-1, chance=0.2)
  for fault in session.some(faults, 1):
    rounds = session.rounds("commit")
    rounds.what = str(fault)
    rounds.begin()
    rounds.work(0.2)
    rotate(rounds)
    rounds.daemon.kill()
    rounds.restart()
    rounds.faults.arm(fault)
    rounds.work(0.5)
    rounds.faults.clear()
    rounds.work(0.5)  # unreadable entries are read again by later events of their subjects
    rounds.recover()
    rounds.judge.restarted()
    finish(rounds)


@scenario
def damage(session):
  """Bytes of the log are damaged, files are missing, a MANIFEST is truncated: nothing is dropped silently, and nothing is changed."""
  rounds = session.rounds("commit")
  rounds.begin()
  rounds.work(0.2)
  rotate(rounds)
  time.sleep(0.5)  # so that the sealed segment is flushed
  rounds.work(0.5, rounds.daemon.kill)
  store = rounds.daemon.store
  whole = store.with_name("whole")
  shutil.copytree(store, whole)
  wrong = []
  for name, harm in session.some(list(damages(store, session.generator)), 4):
    replace(store, whole)
    harm()
    before = {file: size for file, size in rounds.daemon.files().items() if file.startswith("log/")}
    try:
      rounds.daemon.start()
    except Refused as refused:
      if any(size > rounds.daemon.files().get(file, -1) for file, size in before.items()):
        wrong.append(f"{name}: refused, and files were cut or removed")
      elif "is damaged" not in str(refused) and "missing" not in str(refused):
        wrong.append(f"{name}: refused without saying what is damaged: {refused}")
      session.figures["damage refused"] += 1
    else:
      differs = differences(rounds)
      rounds.daemon.kill()
      if differs:
        wrong.append(f"{name}: served, and {len(differs)} subjects differ")
  replace(store, whole)
  if wrong:
    raise Violation("damage was ignored:\n  " + "\n  ".join(wrong))
  rounds.restart()
  finish(rounds)


def replace(store, whole):
  shutil.rmtree(store)
  shutil.copytree(whole, store)


def differences(rounds):
  """The subjects that lack acknowledged events; records nothing about them."""
  client = rounds.daemon.client()
  hitters = rounds.load.hitters()
  found = []
  for hitter, reply in zip(hitters, client.replies([("state", {"subject": hitter.name}) for hitter in hitters])):
    if "error" in reply and reply["error"]["data"]["code"] != "not_found":
      continue  # reported
    state = reply.get("result", {}).get("plugins", {}).get("tally", {})
    gaps = state.get("missing") or {}
    is_applied = lambda n: n <= state.get("last", 0) and str(n) not in gaps
    if not is_applied(hitter.top) and hitter.top not in hitter.open and hitter.top or any(
        sent.status == "acknowledged" and not is_applied(n) for n, sent in hitter.sent.items()):
      found.append(hitter.name)
  client.close()
  return found


def damages(store, generator):
  """Ways to damage a store, by name."""
  files = sorted((store / "log").glob("*.log"), key=lambda path: path.stat().st_mtime_ns)
  newest, manifest = files[-1], max(store.glob("MANIFEST-*"))
  end = len(newest.read_bytes().rstrip(b"\0"))

  def flip(offset):
    def harm():
      with open(newest, "r+b") as file:
        file.seek(offset)
        value = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([value ^ 1]))
    return harm

  def cut(path, length):
    def harm():
      with open(path, "r+b") as file:
        file.truncate(length)
    return harm

  yield f"a bit at byte {end // 2} of {end}", flip(end // 2)
  yield "a bit of the magic number", flip(3)
  yield "the newest file is gone", newest.unlink
  yield "the folder log is gone", lambda: shutil.rmtree(store / "log")
  yield "the MANIFEST is shortened", cut(manifest, manifest.stat().st_size * 2 // 3)
  yield "the newest file is shortened", cut(newest, end // 2)
  yield "a bit of the file's number", flip(8)
  for _ in range(8):
    offset = generator.randrange(16, end * 9 // 10)
    yield f"a bit at byte {offset} of {end}", flip(offset)
  for path in files[:-1]:
    if path.name < newest.name:
      yield "an earlier file is gone", path.unlink


@scenario
@on_disk
def recycled_file(session):
  """The power is cut while a segment's file is reused; the next start serves everything."""
  for kind in session.some(list(disks.TOOLS), 1):
    moments = [("fsync", FOLDERS), ("rename", LOG), (SYNCS, LOG)]
    cases = [(action, *moment) for moment in moments for action in ("kill_before", "kill_after")]
    with PowerCuts(session, kind) as cuts:
      for action, calls, pattern in session.some(cases, 1):
        rounds = cuts.rounds
        for _ in range(4):
          rounds.work(0.1)
          rotate(rounds)
        rounds.faults.arm(Fault("pwrite", LOG, arms=2), Fault(calls, pattern, action=action, waits=True))
        rounds.work(2, rounds.daemon.kill, lambda: not rounds.daemon.is_running)
        cuts.cut(f"{action} at {calls} of {pattern}")


@scenario
@on_disk
def seal_not_synced(session):
  """A kill at a sync of the recovery, another start, then a power cut: nothing relied on data that was only in the page cache."""
  for kind in session.some(list(disks.TOOLS), 1):
    with PowerCuts(session, kind) as cuts:
      for calls, skip in session.some([(SYNCS, 0), ("ftruncate", 0), (SYNCS, 1), (SYNCS, 2)], 1):
        rounds = cuts.rounds
        rounds.work(0.3, rounds.daemon.kill)
        rounds.faults.arm(Fault(calls, LOG, action="kill_before", skip=skip))
        rounds.daemon.launch(rounds.faults.path)
        deadline = time.monotonic() + 3
        while rounds.daemon.is_running and time.monotonic() < deadline:
          time.sleep(0.002)
        rounds.daemon.kill()
        rounds.faults.clear()
        rounds.restart()
        rounds.work(0.2)
        cuts.cut(f"a kill at {calls} {skip} of recovery")


class PowerCuts:
  """A daemon on a separate disk whose power is cut repeatedly."""

  def __init__(self, session, kind):
    self.session, self.kind = session, kind

  def __enter__(self):
    self.disk = self.session.disk(self.kind, mib=640)
    self.rounds = self.session.rounds("commit", self.disk.folder / "store", padding=0)
    self.rounds.begin()
    return self

  def cut(self, what):
    self.rounds.what = f"a power cut on {self.kind} behind {what}"
    self.disk.cut(disks.FLAGS["with nothing written"])
    self.rounds.daemon.kill()
    self.rounds.faults.clear()
    self.disk.restore()
    self.session.figures["power cuts"] += 1
    self.session.figures[f"power cuts on {self.kind}"] += 1
    self.rounds.restart()

  def __exit__(self, kind, error, trace):
    if error is None:
      finish(self.rounds)
      self.disk.remove()
