"""ruled, Redis and Tarantool with the same rule, event and load, in alternating rounds."""
import statistics

from . import place, servers
from .load import Load

SHAPES = {
  "pipelined": {"connections": 16, "pipeline": 16},
  "fifty": {"connections": 50, "pipeline": 1},
  "single": {"connections": 1, "pipeline": 1},
}
TITLES = {
  "pipelined": "16 connections × 16 in flight", "fifty": "50 connections, one in flight each",
  "single": "one connection, one in flight", "offered": "50 connections, offered 80 % of what Redis answers at most on them, up to 16 in flight each",
}
PEERS = {"redis": servers.Redis, "tarantool": servers.Tarantool}
OURS = {"ruled": servers.streaks, "gamification": servers.gamification}


def contender(key, folder, durability, processor, before):
  name = key.removesuffix("-before")
  if name in OURS:
    return OURS[name](folder, durability, processor, program=before if name != key else None)
  return PEERS[key](key.capitalize(), folder, durability, processor)


def measure(server, load, subjects, maximum):
  """All shapes on one new store. `maximum` is Redis's throughput on 50 connections, or None while that is being measured."""
  figures = {"fill": load.fill(server, subjects)}
  for shape, options in SHAPES.items():
    figures[shape] = load.measure(server, subjects=subjects, **options)
  maximum = maximum or figures["fifty"]["throughput"]
  figures["offered"] = load.measure(server, subjects=subjects, connections=50, pipeline=16, rate=round(0.8 * maximum))
  figures["rss_mib"] = server.memory_mib()
  figures["disk_mib"] = server.disk_mib()
  return figures


def run(arguments, folder, say):
  """`rounds` rounds of every contender at every durability: {durability: {contender: [figures, …]}}."""
  pin = arguments.pin
  load = Load(arguments.seconds, processor=1 if pin else None, patience=arguments.patience)
  results = {durability: {key: [] for key in arguments.contenders} for durability in arguments.durability}
  for number in range(arguments.rounds):
    for durability, table in results.items():
      for key in arguments.contenders:
        redis = [figures["fifty"]["throughput"] for figures in table.get("redis", [])]
        with contender(key, folder / key, durability, 0 if pin else None, arguments.before) as server:
          figures = measure(server, load, arguments.subjects, statistics.median(redis) if redis else None)
        table[key].append(figures)
        say(f"round {number + 1} {durability:8} {key:19} " + line(figures))
  return results


def line(figures):
  parts = [f"{shape} {figures[shape]['throughput']:,}/s p99 {figures[shape]['p99_us']:.0f} µs" for shape in SHAPES]
  offered = figures["offered"]
  parts.append(f"offered {offered['rate']:,}/s p99 {offered['p99_us']:.0f} µs")
  parts.append(f"cpu {figures['pipelined']['server_cpu_us']:.1f} µs")
  parts.append(f"others {max(figures[shape]['other_cpus'] for shape in SHAPES):.2f}")
  return ", ".join(parts)
