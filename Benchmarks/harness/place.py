"""Where things are: the checkout, the programs that are measured, the folder that a run may fill and empties again."""
import os
import pathlib
import shutil
import subprocess
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
CHECKOUT = BENCHMARKS.parent
BUILD = CHECKOUT / ".build" / "bench"
LOAD = BUILD / "load"
RULED = pathlib.Path(os.environ.get("RULED", CHECKOUT / ".build" / "release" / "ruled"))
RULECTL = RULED.parent / "rulectl"


def fail(message):
  print(f"Benchmarks: {message}", file=sys.stderr)
  sys.exit(2)


def build_load():
  subprocess.run(["make", "-s", "-C", BENCHMARKS / "load", f"OUT={BUILD}"], check=True)
  if not RULED.exists():
    fail(f"{RULED} is not there; `make build` makes it")


def install(packages):
  """Installs Debian packages that are missing, without starting their services."""
  missing = [name for name, program in packages.items() if shutil.which(program) is None]
  if not missing:
    return
  print("installing " + " ".join(missing))
  sudo = [] if os.geteuid() == 0 else ["sudo"]
  environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")
  for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]):
    done = subprocess.run(sudo + command, env=environment, capture_output=True, text=True)
    if done.returncode:
      fail(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
