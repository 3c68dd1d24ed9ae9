"""The cost of the journal: throughput and processor time with it and without, in turns; its bytes on disk for each event;
and how fast a backtest replays it, compared with the daemon itself."""
import json
import statistics
import time

from .. import place, report, servers
from ..load import Load

SHAPE = {"connections": 16, "pipeline": 16}
CONTENDERS = {"with": "", "without": 'journal = { keep = "0" }'}


def backtest(server):
  """Plays the whole journal through the rules in force on both sides: the report and how long it took."""
  begun = time.monotonic()
  result = json.loads(server.tool("backtest", server.rules, "--json"))
  seconds = time.monotonic() - begun
  if result["outcomes"]["changed"] or result["fidelity"]["different"]:
    place.fail(f"backtest: equal rules differ: {result['outcomes']}, {result['fidelity']}")
  return {"events": result["events"], "seconds": seconds, "rate": result["events"] / seconds}


def on_disk(server):
  """The bytes of the journal's files for each entry, once all that is committed is in them."""
  kept = server.ask("journal")
  return server.ask("health")["journal"]["bytes"] / (kept["last"] - kept["first"] + 1)


def run(arguments, folder, say):
  load = Load(arguments.seconds, patience=arguments.patience)
  results = {durability: {key: [] for key in CONTENDERS} for durability in arguments.durability}
  files, backtests = [], []
  for number in range(arguments.rounds):
    for durability, table in results.items():
      for key, settings in CONTENDERS.items():
        with servers.streaks(folder / "journal", durability, settings=settings) as server:
          load.fill(server, arguments.subjects)
          figures = load.measure(server, subjects=arguments.subjects, **SHAPE)
          table[key].append(figures)
          say(f"round {number + 1} {durability:8} {key:7} the journal: {figures['throughput']:,}/s, cpu "
              f"{figures['server_cpu_us']:.1f} µs, others {figures['other_cpus']:.2f}")
          if key == "with":
            files.append(on_disk(server))
            backtests.append({**backtest(server), "daemon": figures["throughput"]})
            say(f"  {files[-1]:.1f} bytes on disk for each event; backtest {backtests[-1]['rate']:,.0f}/s of "
                f"{backtests[-1]['events']:,} events")
  return "The journal", table_of(results, files, backtests), {**results, "bytes": files, "backtests": backtests}


def table_of(results, files, backtests):
  rows = ["| | events/s with | without | ratio (quiet rounds) | asked | processor time with | without |", "|---|--:|--:|--:|--:|--:|--:|"]
  for durability, table in results.items():
    middle = lambda key, figure: statistics.median(figures[figure] for figures in table[key])
    ratio, quiet = ratio_of(table)
    rows.append(f"| {report.DURABILITIES[durability]} | {middle('with', 'throughput'):,.0f} | {middle('without', 'throughput'):,.0f} | "
                f"{ratio:.2f} × ({quiet}) | ≥ 0.93 | {middle('with', 'server_cpu_us'):.2f} µs | "
                f"{middle('without', 'server_cpu_us'):.2f} µs |")
  rate = statistics.median(played["rate"] for played in backtests)
  share = statistics.median(played["rate"] / played["daemon"] for played in backtests)
  return rows + ["", f"16 connections with 16 in flight each, in turns. On disk {statistics.median(files):.1f} bytes for each event (asked: ≤ 60).",
                 "", f"A backtest of the journal with equal rules on both sides, from the start of `rulectl` to its report: "
                     f"{rate:,.0f} events/s, {share:.2f} × what the daemon decides (asked: ≥ 0.6)."]


def ratio_of(table):
  """The median of the rounds' ratios, only of quiet rounds if there are any, and the number of quiet rounds."""
  return report.ratio({key: [{"pipelined": figures} for figures in rounds] for key, rounds in table.items()},
                      "with", "pipelined", "throughput", "without")
