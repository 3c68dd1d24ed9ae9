"""Runs the load generator against a server and returns its figures."""
import itertools
import json
import os
import subprocess
import time

from . import machine, place

RUNS = itertools.count()


class Load:
  """How to measure: where the generator runs, for how long, and how much noise leads to a repeat."""

  def __init__(self, seconds, warmup=0.5, processor=None, patience=0.0, noise=0.3, repeats=2):
    self.seconds = seconds
    self.warmup = warmup
    self.processor = processor
    self.patience = patience
    self.noise = noise
    self.repeats = repeats

  def once(self, server, **options):
    options = {"protocol": server.protocol, "socket": server.socket, "server": server.pid, "seconds": self.seconds,
               "warmup": self.warmup, "run": f"{os.getpid():x}-{time.time_ns() // 1000000 % 2**32:08x}-{next(RUNS):04x}",
               **options}
    command = ["taskset", "-c", str(self.processor)] if self.processor is not None else []
    command.append(str(place.LOAD))
    for name, value in options.items():
      command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
      place.fail(f"{server.name}: {done.stderr.strip()}")
    figures = json.loads(done.stdout)
    if figures["failed"] or figures["duplicates"] or figures["unfinished"]:
      place.fail(f"{server.name}: {figures['failed']} failed, {figures['duplicates']} duplicates, "
                 f"{figures['unfinished']} without a reply: {done.stderr[:600]}")
    return figures

  def measure(self, server, **options):
    """The quietest of a few runs; a quiet one ends the series."""
    best = None
    for _ in range(1 + self.repeats):
      machine.await_quiet(self.patience)
      figures = self.once(server, **options)
      if best is None or figures["other_cpus"] < best["other_cpus"]:
        best = figures
      if best["other_cpus"] <= self.noise:
        break
    return best

  def fill(self, server, subjects):
    """Gives each subject one event, so that none of the measured events is a subject's first."""
    return self.once(server, connections=16, pipeline=16, subjects=subjects, requests=subjects, sequential=True,
                     warmup=0, seconds=3600)
