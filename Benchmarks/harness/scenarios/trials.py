"""The latency of live events while other rules are tried: beside a shadow and within a rollout, against neither, in turns."""
import shutil
import statistics

from .. import place, servers
from ..load import Load

RATE_SHARE = 0.5
TRIALS = {
  "neither": [],
  "a shadow of all subjects": [("shadow", "start", "{rules}"), ("shadow", "stop")],
  "a rollout to half of them": [("rollout", "start", "{rules}", "--percent", "50"), ("rollout", "abort")],
}


def candidate(server, folder):
  """The rules in force with ten times the points."""
  rules = folder / "candidate"
  shutil.rmtree(rules, ignore_errors=True)
  shutil.copytree(server.rules, rules)
  path = rules / "streaks" / "plugin.lua"
  text = path.read_text()
  changed = text.replace("points      = 10,", "points      = 100,")
  if changed == text:
    place.fail(f"{path} has no setting 'points      = 10,'")
  path.write_text(changed)
  return rules


def run(arguments, folder, say):
  load = Load(max(arguments.seconds, 3), patience=arguments.patience)
  results = {trial: [] for trial in TRIALS}
  with servers.streaks(folder / "trials", "commit") as server:
    load.fill(server, arguments.subjects)
    rules = candidate(server, folder)
    most = load.measure(server, connections=50, pipeline=1, subjects=arguments.subjects)["throughput"]
    shape = {"connections": 50, "pipeline": 16, "rate": round(most * RATE_SHARE), "subjects": arguments.subjects}
    for number in range(arguments.rounds):
      for trial, commands in TRIALS.items():
        if commands:
          server.tool(*(str(rules) if word == "{rules}" else word for word in commands[0]))
        results[trial].append(load.once(server, **shape))
        if commands:
          server.tool(*commands[1])
        figures = results[trial][-1]
        say(f"round {number + 1} {trial}: p50 {figures['p50_us']:,.0f} µs, p99 {figures['p99_us']:,.0f} µs, longest "
            f"{figures['max_us'] / 1000:.1f} ms, cpu {figures['server_cpu_us']:.1f} µs")
  shutil.rmtree(folder / "trials", ignore_errors=True)
  return "Rules on trial", table(results, shape["rate"]), results


def table(results, rate):
  rows = ["| beside the live rules | events/s | p50 | p99 | p99.9 | longest | processor time |", "|---|--:|--:|--:|--:|--:|--:|"]
  for trial, rounds in results.items():
    middle = lambda figure: statistics.median(figures[figure] for figures in rounds)
    rows.append(f"| {trial} | {middle('throughput'):,.0f} | {middle('p50_us'):,.0f} µs | {middle('p99_us'):,.0f} µs | "
                f"{middle('p999_us'):,.0f} µs | {middle('max_us') / 1000:.1f} ms | {middle('server_cpu_us'):.2f} µs |")
  return rows + ["", f"{rate:,} events/s offered, {RATE_SHARE:.0%} of what 50 connections get unpipelined; in turns. The processor "
                     "time is that of the whole daemon, the shadow included."]
