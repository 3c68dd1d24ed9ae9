"""A hundred plugins of which two match, compared with those two alone: the cost of rules that don't match."""
import shutil
import statistics

from .. import machine, place, servers
from ..load import Load

BYSTANDER = """plugin {{ name = "{name}", version = "1.0.0", about = "Listens to events that the benchmark does not send." }}

rule "note" {{
  on  = {{ "{name}.noted", "{name}.seen.*" }},
  run = function(_, state) state.noted = (state.noted or 0) + 1 end,
}}
"""
SECOND = """plugin { name = "tally", version = "1.0.0", about = "Counts what each subject did." }

rule "tally" {
  on  = "flirt.*",
  run = function(event, state)
    state[event.type] = (state[event.type] or 0) + 1
    decide("count", state[event.type])
  end,
}
"""


def server(folder, bystanders):
  """A ruled with the two plugins that match and `bystanders` that don't."""
  sources = folder.parent / f"{folder.name}-rules"
  shutil.rmtree(sources, ignore_errors=True)
  plugins = {"tally": SECOND, **{f"bystander{n}": BYSTANDER.format(name=f"bystander{n}") for n in range(bystanders)}}
  for name, text in plugins.items():
    (sources / name).mkdir(parents=True)
    (sources / name / "plugin.lua").write_text(text)
  return servers.Ruled(f"{bystanders + 2} plugins", folder, "commit",
                       plugins=[place.BENCHMARKS / "rules" / "streaks", *(sources / name for name in plugins)])


def run(arguments, folder, say):
  load = Load(arguments.seconds, patience=arguments.patience)
  results = {"two": [], "hundred": []}
  for number in range(arguments.rounds):
    for key, bystanders in (("two", 0), ("hundred", 98)):
      with server(folder / key, bystanders) as running:
        load.fill(running, arguments.subjects)
        figures = load.measure(running, connections=16, pipeline=16, subjects=arguments.subjects)
        figures.update(rss_mib=running.memory_mib(), started_in=running.started_in)
      results[key].append(figures)
      say(f"round {number + 1} {key} plugins: {figures['throughput']:,}/s, cpu {figures['server_cpu_us']:.1f} µs, "
          f"others {figures['other_cpus']:.2f}")
  return "A hundred plugins of which two match", table(results), results


def table(results):
  middle = lambda key, figure: statistics.median(figures[figure] for figures in results[key])
  rows = ["| | events/s | p99 | processor time | RSS | start-up |", "|---|--:|--:|--:|--:|--:|"]
  for key, name in (("two", "two plugins"), ("hundred", "a hundred, two match")):
    rows.append(f"| {name} | {middle(key, 'throughput'):,.0f} | {middle(key, 'p99_us'):,.0f} µs | "
                f"{middle(key, 'server_cpu_us'):.2f} µs | {middle(key, 'rss_mib'):,.0f} MiB | "
                f"{middle(key, 'started_in'):.2f} s |")
  ratios = [many["throughput"] / two["throughput"] for two, many in zip(results["two"], results["hundred"])]
  time = middle("hundred", "server_cpu_us") / middle("two", "server_cpu_us")
  noise = max(figures["other_cpus"] for rounds in results.values() for figures in rounds)
  return rows + ["", f"Throughput {statistics.median(ratios):.2f} × (asked: ≥ 0.9), processor time {time:.2f} ×; others took "
                     f"{noise:.2f} processors at most."]
