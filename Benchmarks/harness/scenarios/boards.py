"""A change of a board compared with a counter: the same rule with neither, with a counter and with a board that has all subjects."""
import shutil
import statistics

from .. import servers
from ..load import Load

RULE = """plugin {{ name = "ranks", version = "1.0.0", about = "What the benchmark of boards compares." }}

rule "note" {{
  on  = "flirt.*",
  run = function(_, state)
    state.n = (state.n or 0) + 1
    {call}
  end,
}}
"""
CALLS = {"neither": "", "count": 'count("ranks.noted", { kind = "flirt" }, math.random(100))',
         "board": 'board.add("all", math.random(100))'}


def server(folder, call):
  sources = folder.parent / f"{folder.name}-rules"
  shutil.rmtree(sources, ignore_errors=True)
  (sources / "ranks").mkdir(parents=True)
  (sources / "ranks" / "plugin.lua").write_text(RULE.format(call=call))
  return servers.Ruled(folder.name, folder, "interval", plugins=[sources / "ranks"])


def run(arguments, folder, say):
  subjects = 100_000 if arguments.quick else 1_000_000
  load = Load(arguments.seconds, patience=arguments.patience)
  results = {key: [] for key in CALLS}
  for number in range(arguments.rounds):
    for key, call in CALLS.items():
      with server(folder / key, call) as running:
        load.fill(running, subjects)
        figures = load.measure(running, connections=16, pipeline=16, subjects=subjects)
        figures.update(rss_mib=running.memory_mib())
      results[key].append(figures)
      say(f"round {number + 1} {key}: {figures['throughput']:,}/s, cpu {figures['server_cpu_us']:.2f} µs, "
          f"others {figures['other_cpus']:.2f}")
  return f"A board of {subjects:,} subjects", table(results), results


def table(results):
  middle = lambda key, figure: statistics.median(figures[figure] for figures in results[key])
  rows = ["| | events/s | p99 | processor time | RSS |", "|---|--:|--:|--:|--:|"]
  for key in CALLS:
    rows.append(f"| {key} | {middle(key, 'throughput'):,.0f} | {middle(key, 'p99_us'):,.0f} µs | "
                f"{middle(key, 'server_cpu_us'):.2f} µs | {middle(key, 'rss_mib'):,.0f} MiB |")
  costs = {key: middle(key, "server_cpu_us") - middle("neither", "server_cpu_us") for key in ("count", "board")}
  memory = middle("board", "rss_mib") - middle("neither", "rss_mib")
  noise = max(figures["other_cpus"] for rounds in results.values() for figures in rounds)
  return rows + ["", f"A counter costs {costs['count']:.2f} µs, a change of the board {costs['board']:.2f} µs (asked: < 2 ×), the board "
                     f"{memory:,.0f} MiB (asked: < 100). Synced each second; others took {noise:.2f} processors at most."]
