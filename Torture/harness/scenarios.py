"""Named faults: each one a way in which a store was once lost, made anew and looked into. All of them begin with a fresh store."""
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
  """Has the daemon begin another file of the log: a write that fails is repaired so."""
  rounds.faults.arm(Fault("pwrite", LOG))
  rounds.work(2, None, lambda: sum(rounds.faults.hits()) > 0)
  rounds.faults.clear()
  rounds.recover()


def finish(rounds):
  """Kills the daemon, looks at what is left, and has all accounts compared."""
  rounds.faults.clear()
  rounds.daemon.kill()
  rounds.restart()
  rounds.quiet()
  rounds.daemon.kill()
  shutil.rmtree(rounds.daemon.folder)


@scenario
def manifest_sync(session):
  """One sync of RocksDB's MANIFEST fails while a file of the log is brought into it; a restart serves everything."""
  for skip in range(4):
    for action in ("fail", "drop"):
      rounds = session.rounds("commit")
      rounds.what = f"sync {skip} of the MANIFEST that fails ({action})"
      rounds.begin()
      rounds.work(0.1)
      rounds.faults.arm(Fault(SYNCS, MANIFEST, action=action, skip=skip), Fault("pwrite", LOG))
      rounds.work(0.5, None, lambda: rounds.faults.hits()[0] > 0)
      rounds.recover()
      finish(rounds)


@scenario
def refused_is_gone(session):
  """A sync of the log fails, and what is to repair it fails too; what was answered `unavailable` does not come back."""
  later = [("pwrite", "fail", 1), ("pwrite", "fail", -1), (SYNCS, "fail", -1), (("pwrite", *SYNCS, "open", "rename"), "fail", -1)]
  for action in ("fail", "drop", "fail_after"):
    for calls, second, times in later:
      rounds = session.rounds("commit")
      rounds.what = f"a failing sync ({action}) and {calls} that fail behind it ({times})"
      rounds.begin()
      rounds.faults.arm(Fault(SYNCS, LOG, action=action, skip=5, arms=2), Fault(calls, LOG, action=second, times=times, waits=True))
      rounds.work(0.2)
      finish(rounds)


@scenario
def interval_sync(session):
  """Syncs fail while commits do not wait for them; what was acknowledged is there behind a kill."""
  for _ in range(2):
    rounds = session.rounds("interval", padding=0)
    rounds.what = "syncs that fail while no commit waits for them"
    rounds.begin()
    rounds.faults.arm(Fault(SYNCS, LOG, action="drop", times=-1, chance=0.5))
    rounds.work(2.2)
    finish(rounds)


@scenario
def drain_fails(session):
  """Nothing can be brought into RocksDB: log and memory stay bounded, `health` tells, reads go on, and it goes on by itself."""
  rounds = session.rounds("commit", padding=200_000)
  rounds.what = "a drain that keeps failing"
  rounds.begin()
  rounds.work(0.1)
  rounds.faults.arm(Fault(("open", *WRITES), TABLES, "ENOSPC", times=-1))
  deadline, told = time.monotonic() + 20, False
  while time.monotonic() < deadline and not told:
    rounds.work(1, None)
    rounds.load.replenish_unsettled()
    sizes = [size for name, size in rounds.daemon.files().items() if name.startswith("log/")]
    mib, memory = sum(sizes) / (1 << 20), rounds.daemon.resident()
    if len(sizes) > 10 or mib > 700 or memory > 900:
      raise Violation(f"log and memory grow while nothing is drained: {len(sizes)} files of {mib:.0f} MiB, {memory:.0f} MiB in memory; "
                      f"health {rounds.daemon.health()}")
    told = rounds.daemon.health()["status"] == "degraded"
  if not told:
    raise Violation(f"nothing was drained for 20 s with {mib:.0f} MiB in the log, and health says {rounds.daemon.health()}")
  client = rounds.daemon.client()
  if "error" in client.reply("state", {"subject": rounds.load.hitters()[0].name}):
    raise Violation("reads do not go on while nothing is drained")
  client.close()
  rounds.faults.clear()
  rounds.recover()
  rounds.judge.restarted()
  rounds.work(0.2)
  finish(rounds)


@scenario
def failing_reads(session):
  """Reads of RocksDB's files fail or give wrong bits for a while: that is told, nothing is lost, and it goes on by itself."""
  for fault in (Fault("pread", TABLES, times=-1, chance=0.5), Fault("pread", TABLES, action="flip", times=-1, chance=0.2)):
    rounds = session.rounds("commit")
    rounds.what = str(fault)
    rounds.begin()
    for _ in range(2):
      rounds.work(0.2)
      rotate(rounds)
    rounds.daemon.kill()
    rounds.restart()
    rounds.faults.arm(fault)
    rounds.work(0.5)
    rounds.faults.clear()
    rounds.recover()
    rounds.judge.restarted()
    finish(rounds)


@scenario
def damage(session):
  """Bytes of the log are damaged, files of it are missing, a MANIFEST is shortened: nothing is dropped silently, and nothing changed."""
  rounds = session.rounds("commit")
  rounds.begin()
  rounds.work(0.3)
  rounds.daemon.kill()
  rounds.restart()
  rounds.work(0.5, rounds.daemon.kill)
  store = rounds.daemon.store
  whole = store.with_name("whole")
  shutil.copytree(store, whole)
  silent = []
  for name, harm in damages(store, session.generator):
    shutil.rmtree(store)
    shutil.copytree(whole, store)
    harm()
    before = rounds.daemon.files()
    try:
      rounds.daemon.start()
      served = True
    except Refused:
      served = False
    if served:
      differs = differences(rounds)
      if differs:
        silent.append(f"{name}: served, and {len(differs)} subjects differ")
    elif any(size > rounds.daemon.files().get(file, -1) for file, size in before.items() if file.startswith("log/")):
      silent.append(f"{name}: refused, and files were cut or removed")
    rounds.daemon.kill()
  if silent:
    raise Violation("damage was passed over:\n  " + "\n  ".join(silent))
  shutil.rmtree(store)
  shutil.copytree(whole, store)
  rounds.restart()
  finish(rounds)


def differences(rounds):
  """The subjects that lack acknowledged events; nothing is noted about them."""
  client = rounds.daemon.client()
  hitters = rounds.load.hitters()
  found = []
  for hitter, reply in zip(hitters, client.replies([("state", {"subject": hitter.name}) for hitter in hitters])):
    if "error" in reply and reply["error"]["data"]["code"] != "not_found":
      continue  # told
    state = reply.get("result", {}).get("plugins", {}).get("tally", {})
    gaps = state.get("missing") or {}
    is_applied = lambda n: n <= state.get("last", 0) and str(n) not in gaps
    if not is_applied(hitter.top) and hitter.top not in hitter.open and hitter.top or any(
        sent.status == "acknowledged" and not is_applied(n) for n, sent in hitter.sent.items()):
      found.append(hitter.name)
  client.close()
  return found


def damages(store, generator):
  """What is done to a store, by name."""
  files = sorted(path for path in (store / "log").glob("*.log") if path.read_bytes()[16:32].strip(b"\0"))
  newest = files[-1]
  bytes = newest.read_bytes()
  end = len(bytes.rstrip(b"\0"))

  def flip(offset):
    def harm():
      with open(newest, "r+b") as file:
        file.seek(offset)
        value = file.read(1)[0]
        file.seek(offset)
        file.write(b"%c" % (value ^ 1))
    return harm

  yield "a bit of the magic number", flip(3)
  yield "a bit of the file's number", flip(8)
  for _ in range(6):
    offset = generator.randrange(16, end * 3 // 4)
    yield f"a bit at byte {offset} of {end}", flip(offset)
  yield "the newest file is gone", newest.unlink
  if len(files) > 1:
    yield "an earlier file is gone", files[0].unlink
  yield "the folder log is gone", lambda: shutil.rmtree(store / "log")
  half = lambda: newest.write_bytes(bytes[: end // 2])
  yield "the newest file is shortened", half


@scenario
@on_disk
def recycled_file(session):
  """The power is cut while a file of the log is made from an old one; the start behind that serves everything."""
  for kind in disks.TOOLS:
    for place, (calls, pattern) in enumerate([("fsync", FOLDERS), (SYNCS, LOG), ("rename", LOG)]):
      for action in ("kill_before", "kill_after"):
        def act(rounds, calls=calls, pattern=pattern, action=action):
          for _ in range(4):
            rounds.work(0.1)
            rotate(rounds)
          rounds.faults.arm(Fault("pwrite", LOG, arms=2), Fault(calls, pattern, action=action, waits=True))
          rounds.work(2, rounds.daemon.kill, lambda: not rounds.daemon.is_running)
        cut_behind(session, kind, f"{action} at {calls} of {pattern}", act)


@scenario
@on_disk
def seal_not_synced(session):
  """A kill at a sync of recovery, another start, then a power cut: what stood in the page cache alone was not relied on."""
  for kind in disks.TOOLS:
    for calls in (SYNCS, "ftruncate"):
      def act(rounds, calls=calls):
        rounds.work(0.3, rounds.daemon.kill)
        rounds.faults.arm(Fault(calls, LOG, action="kill_before"))
        rounds.daemon.launch(rounds.faults.path)
        deadline = time.monotonic() + 10
        while rounds.daemon.is_running and time.monotonic() < deadline:
          time.sleep(0.002)
        rounds.daemon.kill()
        rounds.faults.clear()
        rounds.restart()
        rounds.work(0.2)
      cut_behind(session, kind, f"a kill at {calls} of recovery", act)


def cut_behind(session, kind, what, act):
  """Does something to a daemon on a disk of its own, cuts the power, and looks at what the next start serves."""
  disk = disks.Disk(session.folder / f"disk{len(session.disks)}", kind, mib=640)
  session.disks.append(disk)
  rounds = session.rounds("commit", disk.folder / "store", padding=0)
  rounds.what = f"a power cut on {kind} behind {what}"
  rounds.begin()
  act(rounds)
  disk.cut(disks.FLAGS["with nothing written"])
  rounds.daemon.kill()
  rounds.faults.clear()
  disk.restore()
  session.figures["power cuts"] += 1
  session.figures[f"power cuts on {kind}"] += 1
  rounds.restart()
  finish(rounds)
  disk.close()
  disk.image.unlink()
