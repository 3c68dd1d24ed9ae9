"""The host of the measurement, and how busy it was."""
import os
import pathlib
import platform
import subprocess
import time


def busy_seconds():
  fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
  user, nice, system, _, _, irq, soft, steal = (int(field) for field in fields[:8])
  return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def busy_processors(seconds=0.4):
  before, begun = busy_seconds(), time.monotonic()
  time.sleep(seconds)
  return (busy_seconds() - before) / (time.monotonic() - begun)


def await_quiet(patience, allowed=0.2):
  """Waits until the host is nearly idle, for `patience` seconds at most."""
  ends = time.monotonic() + patience
  while busy_processors() > allowed and time.monotonic() < ends:
    time.sleep(0.5)


def version(*command):
  try:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]
  except (OSError, IndexError):
    return "unknown"


def description():
  model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
  release = pathlib.Path("/etc/os-release").read_text()
  system = next((line.split("=", 1)[1].strip('"') for line in release.splitlines() if line.startswith("PRETTY_NAME")), "")
  memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
  return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, {system}, Linux {platform.release()}"
