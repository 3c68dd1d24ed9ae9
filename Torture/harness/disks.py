"""Disks for one run: loop devices whose power can be cut, and small file systems that can be filled."""
import errno
import fcntl
import os
import pathlib
import shutil
import struct
import subprocess
import time

from .daemon import Violation

SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32): EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN alike
FLAGS = {"with nothing written": 2, "with the journal written": 1}  # NOLOGFLUSH, LOGFLUSH
TOOLS = {"ext4": "mkfs.ext4", "xfs": "mkfs.xfs"}


def run(*words):
  done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
  return done.returncode, done.stdout + done.stderr


def must(*words):
  code, output = run(*words)
  if code:
    raise OSError(f"{' '.join(map(str, words))} ended with {code}: {output}")
  return output


def why_not(kinds=()):
  """Why disks of these kinds can't be created here; None if they can."""
  if os.geteuid() != 0:
    return "creating a disk needs root"
  if not pathlib.Path("/dev/loop-control").exists():
    return "there are no loop devices"
  missing = [TOOLS[kind] for kind in kinds if shutil.which(TOOLS[kind]) is None]
  if missing:
    return f"there is no {missing[0]}; `make torture` installs it"
  return None


def install():
  """Installs the tools that create and check file systems, if they are missing."""
  missing = [package for tool, package in (("mkfs.ext4", "e2fsprogs"), ("mkfs.xfs", "xfsprogs")) if shutil.which(tool) is None]
  if missing:
    print("installing " + " ".join(missing), flush=True)
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *missing]):
      subprocess.run(["apt-get", *words], env=environment, check=True, capture_output=True)


class Disk:
  """A file system on a loop device."""

  def __init__(self, folder, kind, mib=1536):
    self.kind = kind
    self.image = pathlib.Path(folder) / f"{kind}.image"
    self.folder = pathlib.Path(folder) / kind
    self.folder.mkdir(parents=True)
    with open(self.image, "wb") as image:
      image.truncate(mib << 20)
    options = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"] if kind == "ext4" else ["-q", "-f"]
    must(TOOLS[kind], *options, self.image)
    self.device = None
    self.mount()

  def mount(self):
    if self.device is None:
      self.device = must("losetup", "--find", "--show", self.image).strip()
    must("mount", "-t", self.kind, self.device, self.folder)

  def unmount(self):
    for attempt in range(100):
      code, output = run("umount", self.folder)
      if code == 0 or "not mounted" in output:
        return
      time.sleep(0.05)
    raise OSError(f"{self.folder} can't be unmounted: {output}")

  def cut(self, flags):
    """Cuts the power: nothing reaches the device from now on. Returns the time."""
    descriptor = os.open(self.folder, os.O_RDONLY)
    try:
      at = time.monotonic()
      fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("=I", flags))
    except OSError as error:
      if error.errno != errno.EIO:
        raise
    finally:
      os.close(descriptor)
    return at

  def restore(self):
    """Mounts it again, as after a power cut, and checks the file system."""
    self.unmount()
    self.mount()
    self.unmount()
    check = ["fsck.ext4", "-f", "-n", self.device] if self.kind == "ext4" else ["xfs_repair", "-n", self.device]
    code, output = run(*check)
    if code:
      raise Violation(f"the file system itself is damaged: {output}")
    self.mount()

  def close(self):
    run("umount", "-l", self.folder)
    if self.device is not None:
      run("losetup", "-d", self.device)
      self.device = None

  def remove(self):
    """Unmounts it and removes its image."""
    self.close()
    self.image.unlink()


class Room:
  """A small file system in memory that can be filled and emptied."""

  def __init__(self, folder, mib):
    self.folder = pathlib.Path(folder)
    self.folder.mkdir(parents=True)
    must("mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", self.folder)

  def fill(self):
    """Uses up all free space."""
    block = bytes(1 << 16)
    descriptor = os.open(self.folder / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
      while len(block) >= 4096:
        try:
          os.write(descriptor, block)
        except OSError:
          block = block[: len(block) // 2]
    finally:
      os.close(descriptor)

  def empty(self):
    (self.folder / "ballast").unlink(missing_ok=True)

  def close(self):
    run("umount", "-l", self.folder)
