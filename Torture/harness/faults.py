"""Chooses which calls of the daemon fail, and how far its clock is off, through a page of memory shared with the preloaded library."""
import errno
import mmap
import struct

CALLS = {name: 1 << index for index, name in enumerate(
  ["pwrite", "write", "fdatasync", "fsync", "ftruncate", "rename", "open", "link", "unlink", "fallocate", "sync_range", "mmap", "pread", "send",
   "receive"])}
SYNCS = ("fdatasync", "fsync")
WRITES = ("pwrite", "write")
ACTIONS = {name: index for index, name in enumerate(["fail", "drop", "fail_after", "short", "kill_before", "kill_after", "flip", "delay", "stop_before",
                                                 "stop_after"])}

HEAD = struct.Struct("<IIII")
RULE = struct.Struct("<IIIIiiIIQ128s")
RULES = 16
OFFSET = struct.Struct("<q")


class Fault:
  """Which calls on which files fail, and how."""

  def __init__(self, calls, pattern, error="EIO", action="fail", skip=0, times=1, chance=1.0, waits=False, arms=0, milliseconds=0):
    """With the action `delay` each call takes so many milliseconds longer."""
    self.milliseconds = milliseconds
    self.calls = (calls,) if isinstance(calls, str) else calls
    self.pattern, self.error, self.action = pattern, error, action
    self.skip, self.times, self.chance = skip, times, chance
    self.waits, self.arms = waits, arms

  def __str__(self):
    what = self.action if self.action.startswith(("kill", "stop")) or self.action in ("flip", "short") else f"{self.error} ({self.action})"
    if self.milliseconds:
      what = f"{self.milliseconds} ms more"
    often = "always" if self.times < 0 else f"{self.times} times"
    chance = "" if self.chance >= 1 else f" at {self.chance:.2f}"
    return f"{what} from {'/'.join(self.calls)} on {self.pattern}, {often}{chance}, after {self.skip}"

  def packed(self):
    bits = sum(CALLS[name] for name in self.calls)
    return RULE.pack(0 if self.waits else 1, bits, ACTIONS[self.action], self.milliseconds or getattr(errno, self.error), self.skip, self.times,
                     min(65536, int(self.chance * 65536)), self.arms, 0, self.pattern.encode())


class Faults:
  """The shared page."""

  def __init__(self, path, seed, figures):
    self.path, self.figures = path, figures
    size = HEAD.size + RULES * RULE.size + OFFSET.size
    with open(path, "wb") as file:
      file.write(bytes(size))
    self.file = open(path, "r+b")
    self.page = mmap.mmap(self.file.fileno(), size)
    self.seed = seed
    self.count = 0
    self.tracks(True)

  def tracks(self, wanted):
    """Sets whether writes are recorded, so that a failed sync can drop them."""
    HEAD.pack_into(self.page, 0, 0x52554C45, self.count, int(wanted), self.seed & 0xFFFFFFFF)

  def arm(self, *faults):
    """Arms these faults instead of the earlier ones."""
    self.clear()
    for index, fault in enumerate(faults):
      packed = fault.packed()
      begin = HEAD.size + index * RULE.size
      self.page[begin + 4 : begin + RULE.size] = packed[4:]
      self.page[begin : begin + 4] = packed[:4]
    self.count = len(faults)
    self.tracks(True)

  def set_clock(self, seconds):
    """Sets the clock of the wall so many seconds off."""
    OFFSET.pack_into(self.page, HEAD.size + RULES * RULE.size, seconds)

  def clear(self):
    """Disarms all faults."""
    for index in range(self.count):
      begin = HEAD.size + index * RULE.size
      self.page[begin : begin + 4] = bytes(4)
    self.figures["calls hit"] += sum(self.hits())
    self.count = 0
    self.tracks(True)

  def hits(self):
    """How many calls each fault has hit."""
    return [RULE.unpack_from(self.page, HEAD.size + index * RULE.size)[8] for index in range(self.count)]
