"""Reloads under load: the longest time that any request waits, with reloads and without."""
import shutil
import statistics
import threading
import time

from .. import servers
from ..load import Load

RATE_SHARE, EVERY = 0.7, 0.5


def edit_and_reload(server, stop, reloads):
  """Changes the plugin as an editor does, by renaming a new file over it, and requests a reload."""
  path = server.rules / "streaks" / "plugin.lua"
  text, number = path.read_text(), 0
  while not stop.wait(EVERY):
    number += 1
    fresh = path.with_name(".plugin.lua.new")
    fresh.write_text(f"{text}-- revision {number}\n")
    fresh.rename(path)
    begun = time.monotonic()
    server.tool("reload")
    reloads.append(time.monotonic() - begun)


def run(arguments, folder, say):
  load = Load(max(arguments.seconds, 3), patience=arguments.patience)
  results, reloads = {"full": {"without": [], "with": []}, "offered": {"without": [], "with": []}}, []
  with servers.streaks(folder / "reload", "commit") as server:
    load.fill(server, arguments.subjects)
    shapes = {"full": {"connections": 16, "pipeline": 16, "subjects": arguments.subjects}}
    most = load.measure(server, connections=50, pipeline=1, subjects=arguments.subjects)["throughput"]
    shapes["offered"] = {"connections": 50, "pipeline": 16, "rate": round(most * RATE_SHARE), "subjects": arguments.subjects}
    for _ in range(arguments.rounds):
      for shape, options in shapes.items():
        results[shape]["without"].append(load.measure(server, **options))
        stop = threading.Event()
        editor = threading.Thread(target=edit_and_reload, args=(server, stop, reloads))
        editor.start()
        try:
          results[shape]["with"].append(load.once(server, **options))
        finally:
          stop.set()
          editor.join()
        say("; ".join(f"{shape} {key} reloads: longest {rounds[-1]['max_us'] / 1000:.1f} ms"
                      for key, rounds in results[shape].items()))
  shutil.rmtree(folder / "reload", ignore_errors=True)
  return "A reload under load", table(results, reloads), {**results, "reloads_s": reloads}


def table(results, reloads):
  rows = ["| | events/s | p50 | p99 | p99.9 | longest |", "|---|--:|--:|--:|--:|--:|"]
  titles = {"full": "as fast as replies come", "offered": f"at {RATE_SHARE:.0%} of what 50 connections get unpipelined"}
  added = []
  for shape, title in titles.items():
    for key in ("without", "with"):
      middle = lambda figure: statistics.median(figures[figure] for figures in results[shape][key])
      rows.append(f"| {title}, {key} reloads | {middle('throughput'):,.0f} | {middle('p50_us'):,.0f} µs | "
                  f"{middle('p99_us'):,.0f} µs | {middle('p999_us'):,.0f} µs | {middle('max_us') / 1000:.1f} ms |")
    longest = {key: statistics.median(figures["max_us"] for figures in rounds) / 1000
               for key, rounds in results[shape].items()}
    added.append(f"{title} {longest['with'] - longest['without']:+.1f} ms")
  return rows + ["", f"A changed plugin every {EVERY} s, {len(reloads)} reloads, {statistics.median(reloads) * 1000:.0f} ms each "
                     f"from asking to answer. What reloads add to the longest wait (asked: ≤ 20 ms): {', '.join(added)}."]
