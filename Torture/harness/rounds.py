"""The faults: kills, power cuts, failing calls, full disks. Each round ends with a restart and a check of the store."""
import time

from .daemon import Refused, Violation
from .faults import SYNCS, WRITES, Fault

LOG, MANIFEST, TABLES, FOLDERS = "*/log/*.log*", "*/MANIFEST-*", "*.sst", "*/log"
PADDING = 60_000


class Rounds:
  """One daemon under torture."""

  def __init__(self, daemon, load, judge, faults, generator, figures, spell):
    self.daemon, self.load, self.judge, self.faults = daemon, load, judge, faults
    self.generator, self.figures = generator, figures
    self.spell = spell  # most seconds of load between two faults
    self.what = "the start"

  def begin(self):
    self.start()
    self.judge.restarted()

  def start(self):
    """Starts it; a refused start is a violation."""
    try:
      self.daemon.start(self.faults.path)
    except Refused as refused:
      self.figures["starts refused"] += 1
      raise Violation(f"the start after {self.what} was refused: {refused}") from None
    self.figures["starts"] += 1

  def work(self, seconds, on_time=None, until=lambda: False, is_patient=True, cuts_power=False):
    self.load.run(self.daemon.socket, seconds, until, on_time, is_patient, cuts_power)

  def restart(self, cut=None):
    self.start()
    self.judge.restarted(cut)

  def quiet(self):
    """Pauses the load and compares all accounts."""
    self.work(self.spell / 2)
    self.judge.quiet()

  # MARK: Kills

  def kill(self):
    """Kills the daemon at a random moment, perhaps again during its start."""
    where = self.generator.choices(["load", "call", "flush", "start", "start call"], [4, 3, 2, 2, 2])[0]
    self.what = f"a kill ({where})"
    seconds = self.generator.uniform(0.02, self.spell)
    if where == "call":
      self.faults.arm(self.deadly(self.generator.choice([0, 1, 3, 10, 40])))
      self.work(self.spell, self.daemon.kill, lambda: not self.daemon.is_running)
      self.faults.clear()
    elif where == "flush":
      before = {name for name in self.daemon.files() if name.endswith(".sst")}
      self.faults.arm(Fault("pwrite", LOG))  # a failure is followed by a repair, and that by a flush
      self.work(self.spell, None, lambda: sum(self.faults.hits()) > 0)
      self.faults.clear()
      flushes = lambda: any(name.endswith(".sst") and name not in before for name in self.daemon.files())
      self.work(1, lambda: (time.sleep(self.generator.uniform(0, 0.02)), self.daemon.kill()), flushes)
    else:
      self.work(seconds, self.daemon.kill)
    self.daemon.kill()
    self.figures["kills"] += 1
    for _ in range(self.generator.randrange(1, 4) if where.startswith("start") else 0):
      self.kill_start(where == "start call")
    self.restart()

  def kill_start(self, at_call):
    """Kills the daemon while it starts."""
    if at_call:
      self.faults.arm(self.deadly(self.generator.choice([0, 0, 1, 2, 5])))
    self.daemon.launch(self.faults.path)
    deadline = time.monotonic() + (1 if at_call else self.generator.uniform(0, 1.2 * self.daemon.slowest_start))
    while self.daemon.is_running and time.monotonic() < deadline:
      time.sleep(0.001)
    self.daemon.kill()
    self.faults.clear()
    self.figures["kills"] += 1

  def deadly(self, skip):
    """A fault that kills the daemon at a random call."""
    calls, pattern = self.generator.choice([
      ("pwrite", LOG), (SYNCS, LOG), (SYNCS, LOG), ("ftruncate", LOG), ("rename", LOG), ("open", LOG), ("unlink", LOG), ("fsync", FOLDERS),
      (SYNCS, MANIFEST), (WRITES, MANIFEST), (WRITES, TABLES), (SYNCS, TABLES), (("link", "rename"), TABLES), ("unlink", TABLES),
      ("rename", "*/CURRENT"), ("fsync", "*/store"), (("open", "pwrite", "fdatasync", "rename"), "*/log.manifest*"),
    ])
    return Fault(calls, pattern, action=self.generator.choice(["kill_before", "kill_after"]), skip=skip)

  # MARK: Power cuts

  def cut_power(self, disk):
    """Cuts the power under load, after a kill at some call, or while the daemon starts again after a kill."""
    name, flags = self.generator.choice([("with nothing written", 2), ("with nothing written", 2), ("with the journal written", 1)])
    where = self.generator.choices(["load", "call", "start", "start call"], [4, 3, 2, 2])[0]
    self.what = f"a power cut ({where}, {name})"
    power_off = lambda: disk.cut(flags)
    if where == "load":
      def both():
        power_off()
        time.sleep(self.generator.choice([0, 0.01, 0.2]))
        self.daemon.kill()
      self.work(self.generator.uniform(0.02, 2 * self.spell), both, cuts_power=True)
      at = time.monotonic()
    else:
      if where == "call":
        self.faults.arm(self.deadly(self.generator.choice([0, 1, 3, 10, 40])))
      self.work(self.generator.uniform(0.02, self.spell), self.daemon.kill, lambda: not self.daemon.is_running)
      self.faults.clear()
      at = time.monotonic()  # since then, no daemon has had time to sync
      if where.startswith("start"):
        self.kill_start(where == "start call")
        if self.generator.random() < 0.5:
          self.kill_start(False)
      power_off()
    self.daemon.kill()
    disk.restore()
    self.figures["power cuts"] += 1
    self.figures[f"power cuts on {disk.kind}"] += 1
    self.restart(at if self.daemon.durability == "interval" else None)

  # MARK: Failing calls

  def fail_calls(self):
    """Makes calls fail under load or during the start; then they succeed again, and a kill shows the content of the disk."""
    faults = [self.failing() for _ in range(self.generator.choice([1, 1, 2, 3]))]
    self.what = "failing calls: " + "; ".join(map(str, faults))
    while self.generator.random() < 0.25:
      self.fail_start(faults)
    armed = time.monotonic()
    self.faults.arm(*faults)
    self.work(self.generator.uniform(0.1, self.spell))
    if self.generator.random() < 0.5:
      self.faults.clear()
      self.recover()
      self.judge.restarted()
      self.work(self.generator.uniform(0, self.spell / 2))
    self.daemon_must_live()
    dropped = self.daemon.durability == "interval" and any(
      fault.action == "drop" and hits for fault, hits in zip(faults, self.faults.hits()))
    self.daemon.kill()
    self.faults.clear()
    self.figures["kills"] += 1
    self.figures["rounds of failing calls"] += 1
    # Without a sync per commit, commits that a failed sync has dropped are lost as after a power cut, unless the daemon wrote them
    # again.
    self.restart(armed if dropped else None)

  def fail_start(self, faults):
    """Makes calls fail at a start, which may therefore be refused, without damage."""
    self.daemon.kill()
    self.faults.arm(*faults)
    try:
      self.daemon.start(self.faults.path)
    except Refused:
      self.figures["starts refused under faults"] += 1
    self.daemon.kill()
    self.faults.clear()
    self.restart()

  def failing(self):
    calls, pattern = self.generator.choice([
      ("pwrite", LOG), ("pwrite", LOG), (SYNCS, LOG), (SYNCS, LOG), (SYNCS, LOG), ("ftruncate", LOG), ("rename", LOG), ("open", LOG),
      ("fallocate", LOG), ("unlink", LOG), ("fsync", FOLDERS), (SYNCS, MANIFEST), (WRITES, MANIFEST), (WRITES, TABLES), (SYNCS, TABLES),
      (("link", "rename"), TABLES), ("open", TABLES), ("pread", TABLES), ("rename", "*/CURRENT"), ("fsync", "*/store"), (("open", "pwrite", "fdatasync", "rename"), "*/log.manifest*"),
      (("open", "write", "fdatasync"), "*/ledger.ndjson"),
    ])
    error = "EMFILE" if "open" in calls and self.generator.random() < 0.5 else self.generator.choice(["EIO", "EIO", "ENOSPC", "EDQUOT"])
    action = "fail"
    if calls == SYNCS:
      action = self.generator.choice(["fail", "drop", "drop", "fail_after"])
    elif calls == "pwrite" or calls == WRITES:
      action = self.generator.choice(["fail", "short"])
    times, chance = self.generator.choice([(1, 1), (1, 1), (2, 1), (5, 1), (-1, 0.05), (-1, 0.3), (-1, 1)])
    return Fault(calls, pattern, error, action, skip=self.generator.choice([0, 0, 1, 2, 5, 20]), times=times, chance=chance)

  def daemon_must_live(self):
    if not self.daemon.is_running:
      raise Violation(f"the daemon ended by itself with {self.daemon.process.poll()}, under {self.what}:\n{self.daemon.words()}")

  def recover(self, seconds=180):
    """Waits until the daemon accepts events again, which it does by itself once calls no longer fail."""
    deadline = time.monotonic() + seconds
    while True:
      self.daemon_must_live()
      health = self.daemon.health()
      if all("only requests that need them are refused" in problem for problem in health["problems"]):
        return  # unreadable entries are listed until somebody has read them
      if time.monotonic() > deadline:
        raise Violation(f"not ready {seconds} s after {self.what}: {health}\n{self.daemon.words()}")
      time.sleep(0.02)

  # MARK: Full disks

  def fill_disk(self, room):
    """Fills the disk under load and frees it again, sometimes with a kill in between."""
    self.what = "a full disk"
    self.work(self.generator.uniform(0.05, self.spell))
    room.fill()
    refused = self.figures["refused"]
    self.work(4 * self.spell, None, lambda: self.figures["refused"] > refused)
    self.figures["full disks"] += 1
    if self.generator.random() < 0.5:
      self.daemon_must_live()
      self.daemon.kill()
      self.figures["kills"] += 1
      if self.generator.random() < 0.5:
        try:
          self.daemon.start(self.faults.path)
        except Refused:
          self.figures["starts refused under faults"] += 1
        self.daemon.kill()
      room.empty()
      return self.restart()
    room.empty()
    self.recover()
    self.judge.restarted()
