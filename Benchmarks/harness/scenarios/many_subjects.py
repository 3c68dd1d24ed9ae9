"""Ten million subjects on disk with the hot cache at its default: memory, start-up, and throughput on uniformly random
subjects against a hundred thousand."""
from .. import servers
from ..load import Load

FEW = 100_000


def run(arguments, folder, say):
  many = 1_000_000 if arguments.quick else 10_000_000
  load = Load(max(arguments.seconds, 2), patience=arguments.patience)
  server = servers.streaks(folder / "subjects", "interval")
  try:
    server.start()
    fill = load.fill(server, many)
    say(f"{many:,} subjects written at {fill['throughput']:,}/s, {server.memory_mib():,.0f} MiB, "
        f"{server.disk_mib():,.0f} MiB on disk")
    server.stop(remove=False)
    server.start(fresh=False)
    started = server.started_in
    say(f"started on them in {started:.2f} s")
    shape = {"connections": 16, "pipeline": 16}
    results = {"few": [], "many": []}
    load.once(server, subjects=FEW, **shape)
    for _ in range(max(1, arguments.rounds)):
      results["few"].append(load.measure(server, subjects=FEW, **shape))
      results["many"].append(load.measure(server, subjects=many, **shape))
    sizes = {"rss_mib": server.memory_mib(), "peak_mib": server.memory_mib("VmHWM"), "disk_mib": server.disk_mib()}
    say("; ".join(f"{key} {[figures['throughput'] for figures in rounds]}" for key, rounds in results.items()))
  finally:
    server.stop()
  raw = {"fill": fill, "started_in": started, **results, **sizes}
  return f"{many:,} subjects on disk", table(many, raw), raw


def table(many, raw):
  best = lambda key, figure: sorted(figures[figure] for figures in raw[key])[len(raw[key]) // 2]
  rows = ["| | events/s | p50 | p99 | processor time |", "|---|--:|--:|--:|--:|"]
  for key, name in (("few", f"{FEW:,} of them"), ("many", f"all {many:,}")):
    rows.append(f"| {name} | {best(key, 'throughput'):,} | {best(key, 'p50_us'):,.0f} µs | {best(key, 'p99_us'):,.0f} µs | "
                f"{best(key, 'server_cpu_us'):.2f} µs |")
  ratio = best("many", "throughput") / best("few", "throughput")
  noise = max(figures["other_cpus"] for key in ("few", "many") for figures in raw[key])
  return rows + ["", f"Throughput on all {ratio:.2f} × (asked: ≥ 0.5); start-up {raw['started_in']:.2f} s (asked: < 2 s); RSS "
                     f"{raw['rss_mib']:,.0f} MiB, {raw['peak_mib']:,.0f} MiB at most (asked: < 1 GiB); on disk "
                     f"{raw['disk_mib']:,.0f} MiB. Written at {raw['fill']['throughput']:,}/s, synced each second; others "
                     f"took {noise:.2f} processors at most."]
