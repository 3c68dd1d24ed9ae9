"""The order of a run's parts, and the figures in the end."""
import shutil
import time

from . import disks, scenarios
from .daemon import Daemon, Violation
from .faults import Faults
from .judge import Judge
from .load import Load
from .rounds import PADDING, Rounds
from .subjects import Figures, templates

LOSSES = ["lost", "refused and applied", "starts refused"]
TOLD = ["starts", "kills", "power cuts on ext4", "power cuts on xfs", "full disks", "rounds of failing calls", "calls hit",
        "starts refused under faults", "sent", "acknowledged", "of products", "refused", "told unknown", "unknown", "unknown, applied",
        "unknown, absent", "lost of the last second", "oldest lost, ms", "repeats", "effects", "torn lines", "checks", "full accounts",
        "subjects", "scenarios"]


class Session:
  """One run: its daemons, one after the other, each with its own store."""

  def __init__(self, arguments, ruled, folder, generator, say):
    self.arguments, self.ruled, self.folder, self.generator, self.say = arguments, ruled, folder, generator, say
    self.figures = Figures()
    self.templates = templates()
    self.daemons, self.disks = [], []
    self.number = 0
    self.slowest_start = 0.0
    self.deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None

  def rounds(self, durability, store=None, padding=None, settings=""):
    """A daemon with a new store, a load and a judge; not started yet."""
    self.number += 1
    folder = self.folder / str(self.number)
    folder.mkdir(parents=True)
    daemon = Daemon(self.ruled, folder, durability, store, settings)
    self.daemons.append(daemon)
    if padding is None:
      padding = PADDING // 10 if self.arguments.quick else PADDING
    load = Load(self.generator, self.figures, self.templates, padding)
    faults = Faults(folder / "faults", self.generator.randrange(1 << 32), self.figures)
    spell = 0.3 if self.arguments.quick else 0.6
    self.latest = Rounds(daemon, load, Judge(daemon, load, self.figures), faults, self.generator, self.figures, spell)
    return self.latest

  def disk(self, kind, mib=1536):
    """A new disk whose power can be cut."""
    disk = disks.Disk(self.folder / f"disk{len(self.disks)}", kind, mib)
    self.disks.append(disk)
    return disk

  def some(self, cases, count):
    """All cases of a scenario; in a quick run only the first `count`."""
    return list(cases)[:count] if self.arguments.quick else list(cases)

  def run(self):
    """Runs the requested parts; returns whether everything held."""
    quick = self.arguments.quick
    parts = []
    kills, cuts, failing, full = self.arguments.kills, self.arguments.power_cuts, self.arguments.failing, self.arguments.full_disks
    modes = self.arguments.durability
    for durability in modes:
      parts.append((f"kills, {durability}", self.kills, durability, kills // len(modes)))
      parts.append((f"failing calls, {durability}", self.failing, durability, failing // len(modes)))
    reason = disks.why_not()
    if not reason and not quick:
      disks.install()
    if reason and (cuts or full):
      self.say(f"   power cuts and full disks are left out: {reason}")
    elif cuts or full:
      for durability in modes:
        for kind in disks.TOOLS:
          parts.append((f"power cuts on {kind}, {durability}", lambda *some, kind=kind: self.cuts(kind, *some), durability,
                        cuts // (2 * len(modes))))
        parts.append((f"full disks, {durability}", self.full, durability, full // len(modes)))
    held = True
    if self.arguments.scenarios is not None:
      held = self.scenarios()
    for name, part, durability, count in parts:
      if count > 0 and held and not self.is_over():
        held = self.guarded(name, lambda: part(name, durability, count))
    return held

  def is_over(self):
    return self.deadline is not None and time.monotonic() > self.deadline

  def guarded(self, name, body):
    """Runs a part; if something differs, prints it and keeps the store."""
    try:
      body()
    except Violation as violation:
      self.figures["violations"] += 1
      self.say(f"!! {name}: {violation}\n   it was behind {self.latest.what}")
      for daemon in self.daemons[-1:]:
        self.say(f"   files: {daemon.files()}")
        kept = daemon.folder / "kept"
        if daemon.is_running:
          daemon.kill()
        if daemon.store.exists() and not daemon.store.is_relative_to(daemon.folder / "store"):
          shutil.copytree(daemon.store, kept)
        self.say(f"   kept in {daemon.folder}")
      return False
    finally:
      for daemon in self.daemons:
        daemon.kill()
        self.slowest_start = max(self.slowest_start, daemon.slowest_start)
    return True

  def repeat(self, name, rounds, count, act, figure, each=10):
    """Repeats `act` until a figure has grown by `count`. Compares all accounts after every `each` rounds and in the end, and then stops the
    daemon with SIGTERM."""
    rounds.begin()
    begun = said = time.monotonic()
    before, number, done = self.figures[figure], 0, 0
    while done < count:
      act()
      number, done = number + 1, self.figures[figure] - before
      if number % each == 0:
        rounds.quiet()
      if time.monotonic() - said > 10 or done >= count:
        said = time.monotonic()
        self.say(f"   {name}: {done} of {count} in {said - begun:.0f} s; {self.figures['acknowledged']} acknowledged, "
                 f"{self.figures['refused']} refused, {self.figures['unknown'] + self.figures['told unknown']} unknown")
      if self.is_over():
        break
    rounds.quiet()
    rounds.judge.last_look()
    if rounds.daemon.end() != 0:
      raise Violation(f"SIGTERM did not end the daemon well:\n{rounds.daemon.words()}")
    shutil.rmtree(rounds.daemon.folder)

  def kills(self, name, durability, count):
    rounds = self.rounds(durability)
    self.repeat(name, rounds, count, rounds.kill, "kills")

  def failing(self, name, durability, count):
    rounds = self.rounds(durability)
    self.repeat(name, rounds, count, rounds.fail_calls, "rounds of failing calls")

  def cuts(self, kind, name, durability, count):
    disk = self.disk(kind)
    rounds = self.rounds(durability, disk.folder / "store")
    self.repeat(name, rounds, count, lambda: rounds.cut_power(disk), "power cuts")
    disk.remove()

  def full(self, name, durability, count):
    room = disks.Room(self.folder / f"room{len(self.disks)}", 400)
    self.disks.append(room)
    rounds = self.rounds(durability, room.folder / "store")
    self.repeat(name, rounds, count, lambda: rounds.fill_disk(room), "full disks")
    room.close()

  def scenarios(self):
    """The named faults."""
    held = True
    for name in self.arguments.scenarios or scenarios.ALL:
      scenario = scenarios.ALL[name]
      reason = disks.why_not(self.some(disks.TOOLS, 1)) if getattr(scenario, "needs_disk", False) else None
      if reason:
        self.say(f"   {name}: left out, {reason}")
        continue
      begun = time.monotonic()
      works = self.guarded(name, lambda: scenario(self))
      self.figures["scenarios"] += 1
      self.say(f"   {name}: {'held' if works else 'FAILED'} in {time.monotonic() - begun:.1f} s")
      held = held and works
      if not held and not self.arguments.keep_going:
        break
    return held

  def summary(self, seconds):
    told = [f"{self.figures[name]} {name}" for name in TOLD if self.figures[name]]
    losses = ", ".join(f"{self.figures[name]} {name}" for name in LOSSES)
    verdict = "doubled, torn, out of order: 0" if not self.figures["violations"] else f"{self.figures['violations']} violations, see above"
    return (f"in {seconds:.0f} s: {', '.join(told)}; slowest start {self.slowest_start:.2f} s\n{losses}; {verdict}")

  def close(self):
    for daemon in self.daemons:
      daemon.kill()
    for disk in self.disks:
      disk.close()
