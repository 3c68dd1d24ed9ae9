"""Nodes over PostgreSQL with two synchronous standbys: the commits of the log against a bare C program, events against the embedded store,
what a follower costs its clients, catch-up, take-over, and a sustained run with snapshots and
vacuum."""
import concurrent.futures
import os
import pathlib
import statistics
import subprocess
import time

from .. import nodes, place, servers
from ..load import Load

SHAPES = {"single": {"connections": 1, "pipeline": 1}, "paced": {"connections": 16, "pipeline": 16, "rate": 4000},
          "pipelined": {"connections": 16, "pipeline": 16}}
TITLES = {"single": "one connection, one in flight", "paced": "4,000 events/s offered on 16 connections", "pipelined": "16 connections × 16 in flight"}
# How many commits of the bare program are in flight, and whether all are for one log.
FLIGHTS = {"1 for one log": (1, "one"), "4 for one log": (4, "one"), "16 for one log": (16, "one"), "4 for a log each": (4, "each"),
           "16 for a log each": (16, "each")}
# How many nodes.
STORES = {"embedded store": 0, "one node": 1, "two nodes": 2, "three nodes": 3}
LEASE = "2s"


def middle(values):
  return statistics.median(values)


def percentile(values, share):
  return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def processor_seconds(processes):
  """The processor time of processes so far."""
  total = 0
  for process in processes:
    try:
      fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
      total += int(fields[11]) + int(fields[12])
    except OSError:
      pass
  return total / os.sysconf("SC_CLK_TCK")


# Commits

def commits(cluster, folder, load, arguments, say):
  """The owner's commits under each load, and in turns those of a C program with the same batches: alone, one after the other; and as
  many a second as the owner, beside a daemon with an embedded store that decides as many events, so that the processors have as much to do
  and as long to rest."""
  owner, database = cluster.owner, cluster.database
  results = []
  for number in range(arguments.rounds):
    for shape, options in SHAPES.items():
      (count, took), sequence, begun = owner.commits(), database.sequence, processor_seconds(database.processes)
      figures = load.once(owner, subjects=arguments.subjects, **options)
      (count, took), written = [after - before for after, before in zip(owner.commits(), (count, took))], database.sequence - sequence
      seconds = load.seconds + load.warmup
      size = database.number(f"SELECT avg(length(batch)) FROM ruled.commits WHERE sequence > {sequence}")
      ours = {**figures, "rate": written / seconds, "mean_us": took / count * 1e6, "bytes": size, "events": figures["throughput"] * seconds / written,
              "database_cpu_us": (processor_seconds(database.processes) - begun) / written * 1e6}
      theirs = nodes.bare(database, arguments.seconds)
      beside = bare_beside(folder / "beside", load, database, arguments, {**options, "rate": int(figures["throughput"])}, ours["rate"])
      results.append({"shape": shape, "ours": ours, "bare": theirs, "beside": beside})
      say(f"round {number + 1} {shape}: {ours['rate']:.0f} batches/s of {ours['events']:.1f} events and {size:,.0f} bytes, "
          f"{ours['mean_us']:.0f} µs each; the C program {theirs['mean_us']:.0f} µs alone, {beside['mean_us']:.0f} µs beside as many events")
  return results


def bare_beside(folder, load, database, arguments, options, rate):
  """The commits of the C program at a rate, while a daemon with an embedded store takes a load."""
  with servers.streaks(folder, "interval") as server, concurrent.futures.ThreadPoolExecutor() as pool:
    loaded = pool.submit(load.once, server, subjects=arguments.subjects, **options)
    time.sleep(load.warmup)
    figures = nodes.bare(database, arguments.seconds, rate=rate)
    loaded.result()
  return figures


def flights(cluster, arguments, say):
  results = {flight: [] for flight in FLIGHTS}
  for number in range(arguments.rounds):
    for flight, options in FLIGHTS.items():
      results[flight].append(nodes.bare(cluster.database, arguments.seconds, *options))
      say(f"round {number + 1} {flight}: {results[flight][-1]['rate']:.0f} commits/s")
  return results


def table(*titles):
  """The head of a table whose first column is text and whose others are numbers."""
  return [row(*titles), "|---|" + "--:|" * (len(titles) - 1)]


def row(*cells):
  return f"| {' | '.join(cells)} |"


def milliseconds(microseconds, digits=2):
  return f"{microseconds / 1000:.{digits}f} ms"


def commits_table(results):
  rows = table("load", "batches/s", "events in a batch", "bytes of a batch", "a commit", "of the C program's, as often beside as many events",
               "of the C program's alone, one after the other", "C program beside, a commit", "alone")
  for shape in SHAPES:
    rounds = [result for result in results if result["shape"] == shape]
    ours = lambda name: middle([one["ours"][name] for one in rounds])
    ratio = lambda side: f"{middle([one['ours']['mean_us'] / one[side]['mean_us'] for one in rounds]):.2f} ×"
    took = lambda side: f"{middle([one[side]['mean_us'] for one in rounds]):,.0f} µs"
    rows.append(row(TITLES[shape], f"{ours('rate'):,.0f}", f"{ours('events'):.1f}", f"{ours('bytes'):,.0f}", f"{ours('mean_us'):,.0f} µs",
                    ratio("beside"), ratio("bare"), took("beside"), took("bare")))
  return rows


def flights_table(results):
  rows = table("commits in flight, C program", "commits/s", "p50", "p99", "of one in flight")
  alone = [one["rate"] for one in results[next(iter(FLIGHTS))]]
  for title, rounds in results.items():
    figure = lambda name: middle([one[name] for one in rounds])
    ratio = middle([one["rate"] / first for one, first in zip(rounds, alone)])
    rows.append(row(title, f"{figure('rate'):,.0f}", milliseconds(figure("p50_us")), milliseconds(figure("p99_us")), f"{ratio:.2f} ×"))
  return rows


# Events

def events(arguments, folder, load, say):
  """The same load on the embedded store and on one, two and three nodes, in turns."""
  results = {name: {shape: [] for shape in SHAPES} for name in STORES}
  for number in range(arguments.rounds):
    for name, count in STORES.items():
      if count == 0:
        with servers.streaks(folder / "embedded", "commit") as server:
          measure_events(server, load, arguments, results[name])
      else:
        with nodes.Cluster(folder / "cluster", count, lease="10s") as cluster:
          measure_events(cluster.owner, load, arguments, results[name], cluster.nodes[1:], cluster.database)
      for shape, rounds in results[name].items():
        say(f"round {number + 1} {name}, {shape}: {rounds[-1]['throughput']:,}/s, cpu {rounds[-1]['server_cpu_us']:.1f} µs, "
            f"of which the way to the database {rounds[-1]['way_cpu_us']:.1f} µs, each follower {rounds[-1]['follower_cpu_us']:.1f} µs")
  return results


def measure_events(server, load, arguments, results, followers=(), database=None):
  """Figures of each load, with the processor time that its commits take a C program for each event: what libpq and the socket cost."""
  load.fill(server, arguments.subjects)
  for shape, options in SHAPES.items():
    before, sequence = processor_seconds([node.pid for node in followers]), database.sequence if database else 0
    figures = load.once(server, subjects=arguments.subjects, **options)
    # The followers' figure covers the warm-up too, its processor time and its events.
    answered = figures["throughput"] * (load.seconds + load.warmup)
    figures["follower_cpu_us"] = (processor_seconds([node.pid for node in followers]) - before) / answered / max(1, len(followers)) * 1e6
    figures["way_cpu_us"] = nodes.bare(database, arguments.seconds)["client_cpu_us"] * (database.sequence - sequence) / answered if database else 0
    results[shape].append(figures)


def events_table(results):
  rows = table("", "load", "events/s", "of the embedded store's", "p50", "p99", "owner's processor time", "of the embedded store's",
               "without the way to the database", "each follower's")
  for name, shapes in results.items():
    count = STORES[name]
    for shape, rounds in shapes.items():
      alone = results["embedded store"][shape]
      figure = lambda key: middle([one[key] for one in rounds])
      ratio = lambda key: middle([one[key] / other[key] for one, other in zip(rounds, alone)])
      apart = middle([(one["server_cpu_us"] - one["way_cpu_us"]) / other["server_cpu_us"] for one, other in zip(rounds, alone)])
      follower = f"{figure('follower_cpu_us'):.1f} µs" if count > 1 else ""
      rows.append(row(name, TITLES[shape], f"{figure('throughput'):,.0f}", f"{ratio('throughput'):.2f} ×", milliseconds(figure("p50_us")),
                      milliseconds(figure("p99_us")), f"{figure('server_cpu_us'):.1f} µs", f"{ratio('server_cpu_us'):.2f} ×",
                      f"{apart:.2f} ×" if count else "", follower))
  return rows + ["", "The way to the database is what the same commits take a C program with libpq alone."]


# Clients of a follower

def clients(cluster, load, arguments, say):
  """The same load through the owner's socket and through a follower's, in turns."""
  owner, follower = cluster.nodes[0], cluster.nodes[1]
  results = {shape: {"owner": [], "follower": []} for shape in SHAPES}
  for _ in range(arguments.rounds):
    for shape, options in SHAPES.items():
      for name, node in (("owner", owner), ("follower", follower)):
        before = processor_seconds([owner.pid]), processor_seconds([follower.pid])
        figures = load.once(node, subjects=arguments.subjects, **options)
        events = figures["throughput"] * (load.seconds + load.warmup)
        figures["owner_us"] = (processor_seconds([owner.pid]) - before[0]) / events * 1e6
        figures["follower_us"] = (processor_seconds([follower.pid]) - before[1]) / events * 1e6
        results[shape][name].append(figures)
      say(f"{shape}: " + "; ".join(f"{name} {rounds[-1]['throughput']:,}/s p50 {rounds[-1]['p50_us']:.0f} µs" for name, rounds in results[shape].items()))
  return results


def clients_table(results):
  rows = table("load", "through", "events/s", "p50", "p99", "owner's processor time", "follower's")
  for shape, sides in results.items():
    for name, rounds in sides.items():
      figure = lambda key: middle([one[key] for one in rounds])
      rows.append(row(TITLES[shape], f"the {name}", f"{figure('throughput'):,.0f}", milliseconds(figure("p50_us")), milliseconds(figure("p99_us")),
                      f"{figure('owner_us'):.1f} µs", f"{figure('follower_us'):.1f} µs"))
  return rows


# The database, and nodes that come and go

def catching_up(cluster, arguments, load, say):
  """A node with an empty store plays the log back; then one starts from a snapshot."""
  owner, database = cluster.owner, cluster.database
  start = int(database.number("SELECT pg_current_wal_lsn() - '0/0'"))
  sequence = database.sequence
  figures = load.once(owner, subjects=arguments.subjects, **SHAPES["pipelined"], requests=20_000 if arguments.quick else 200_000, seconds=600)
  answered = figures["answered"]
  share = f"FROM ruled.commits WHERE sequence > {sequence}"
  size = database.number(f"SELECT sum(length(batch)) {share}")
  table = database.number("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('ruled.commits')")
  all_bytes = database.number("SELECT sum(length(batch)) FROM ruled.commits")
  result = {"events": answered, "batches": database.sequence - sequence, "batch_bytes": size / answered,
            "table_bytes": size / answered * table / all_bytes,
            "wal_bytes": (database.number("SELECT pg_current_wal_lsn() - '0/0'") - start) / answered}
  total = database.number("SELECT count(*) FROM ruled.commits")
  begun = time.monotonic()
  node = cluster.join("d")
  nodes.wait(lambda: node.health["behind"] == 0 and node.health["sequence"] >= sequence, "the node does not catch up")
  result.update(node_seconds=time.monotonic() - begun, log_batches=total, log_bytes=all_bytes)
  node.stop()
  cluster.nodes.remove(node)
  say(f"{result['batch_bytes']:.0f} bytes of batches an event, {result['table_bytes']:.0f} in the tables, {result['wal_bytes']:.0f} of WAL; a new node "
      f"played {total:,.0f} batches with {all_bytes / 2**20:.0f} MiB back in {result['node_seconds']:.1f} s")
  return result


def take_overs(cluster, count, say):
  """Kills the owner again and again; how long until an event is acknowledged by another node."""
  results = []
  for number in range(count):
    owner = cluster.owner
    others = [node for node in cluster.nodes if node is not owner]
    nodes.wait(lambda: all(node.health.get("behind") == 0 and node.health.get("owner_reachable") for node in others), "the nodes don't follow")
    time.sleep(0.37 * (number % 5))  # the lease is at another point of its course
    owner.kill()
    begun = time.monotonic()
    event = {"type": "flirt.revealed", "subject": "user:00000001", "id": f"take-over-{os.getpid()}-{number}", "data": {}}
    is_answered = lambda: any(node.result("event", **event) for node in others)
    nodes.wait(is_answered, "no node takes over")
    results.append(time.monotonic() - begun)
    owner.start(fresh=False)
  say(f"{count} take-overs: {min(results):.2f} to {max(results):.2f} s, {middle(results):.2f} s in the median")
  return results


def sustained(folder, arguments, say):
  """A paced load for minutes, while snapshots are written, the log is cut and the database is vacuumed: figures of each half minute."""
  load, results = Load(30 if not arguments.quick else 3, warmup=0), {"rate": arguments.rate, "windows": []}
  with nodes.Cluster(folder / "sustained", 3, snapshots=True, every="60s" if not arguments.quick else "3s", lease="10s") as cluster:
    database, owner = cluster.database, cluster.owner
    end = time.monotonic() + arguments.minutes * 60
    while time.monotonic() < end:
      figures = load.once(owner, subjects=arguments.subjects, **{**SHAPES["paced"], "rate": arguments.rate})
      parts = database.primary.sql("SELECT string_agg(inhrelid::regclass::text, ' ') FROM pg_inherits WHERE inhparent = 'ruled.commits'::regclass")
      row = database.primary.sql(
        "SELECT pg_total_relation_size('ruled.logs') || ' ' || n_dead_tup || ' ' || autovacuum_count FROM pg_stat_user_tables "
        "WHERE relname = 'logs' AND schemaname = 'ruled'").split()
      figures.update(parts=parts.split(), log_row_bytes=int(row[0]), dead=int(row[1]), vacuums=int(row[2]), sequence=database.sequence,
                     database_bytes=database.number("SELECT pg_database_size(current_database())"), rss_mib=owner.memory_mib())
      results["windows"].append(figures)
      say(f"{figures['throughput']:,}/s, p50 {figures['p50_us'] / 1000:.1f} ms, p99 {figures['p99_us'] / 1000:.1f} ms, longest "
          f"{figures['max_us'] / 1000:.0f} ms; parts {parts}; row of the log {figures['log_row_bytes'] >> 10} KiB, {figures['dead']} dead, "
          f"{figures['vacuums']} vacuums; database {figures['database_bytes'] / 2**20:.0f} MiB")
    nodes.wait(lambda: database.number("SELECT count(*) FROM ruled.snapshots") > 0, "no snapshot is written")
    results["snapshot_bytes"] = database.number("SELECT bytes FROM ruled.snapshots ORDER BY sequence DESC LIMIT 1")
    begun = time.monotonic()
    node = cluster.join("d")
    nodes.wait(lambda: node.health["behind"] == 0, "the node does not catch up")
    results["node_seconds"] = time.monotonic() - begun
    if "starts from the snapshot" not in (node.folder / "log").read_text():
      place.fail("the node did not start from a snapshot")
  return results


def sustained_table(results):
  rows = table("after", "events/s", "p50", "p99", "longest", "parts of the log", "row of the log", "its vacuums", "database", "owner's RSS")
  windows = results["windows"]
  step = max(1, len(windows) // 8)
  passed = 0
  for number, one in enumerate(windows):
    passed += one["seconds"]
    if number % step == step - 1:
      rows.append(row(f"{passed / 60:.1f} min", f"{one['throughput']:,}", *(milliseconds(one[name], 1) for name in ("p50_us", "p99_us", "max_us")),
                      f"{len(one['parts'])}", f"{one['log_row_bytes'] >> 10} KiB", f"{one['vacuums']}",
                      f"{one['database_bytes'] / 2**20:.0f} MiB", f"{one['rss_mib']:.0f} MiB"))
  return rows + ["", f"{results['rate']:,} events/s offered. Afterwards a node with an empty store started from a snapshot of "
                     f"{results['snapshot_bytes'] / 2**20:.0f} MiB, and followed after {results['node_seconds']:.1f} s."]


def catching_up_table(result):
  rate = result["log_bytes"] / result["batch_bytes"] / result["node_seconds"]
  return [f"- An event is {result['batch_bytes']:.0f} bytes of batches, {result['table_bytes']:.0f} bytes of the database's tables, and "
          f"{result['wal_bytes']:.0f} bytes of its WAL ({result['events']:,} events in {result['batches']:,} batches).",
          f"- A node with an empty store has played {result['log_batches']:,.0f} batches with {result['log_bytes'] / 2**20:.0f} MiB back "
          f"{result['node_seconds']:.1f} s after its start: {rate:,.0f} events/s."]


def take_over_table(results):
  return [f"{len(results)} kills: {min(results):.2f} s at least, {middle(results):.2f} s in the median, {percentile(results, 0.9):.2f} s at the "
          f"90th percentile, {max(results):.2f} s at most, from the kill to the first acknowledged event at another node."]


def run(arguments, folder, say):
  title = "Several nodes over PostgreSQL"
  if not nodes.can_run():
    return title, ["PostgreSQL 15 or libpq-dev is not installed: not measured."], {}
  subprocess.run(["make", "-s", "-C", place.BENCHMARKS / "load", f"OUT={place.BUILD}", place.BUILD / "commits"], check=True)
  load, raw, lines = Load(arguments.seconds, patience=0), {}, []
  wanted = arguments.cluster

  def part(name, heading, measure, table):
    if name in wanted:
      raw[name] = measure()
      lines.extend([f"### {heading}", "", *table(raw[name]), ""])

  if {"commits", "flights", "clients", "catch-up"} & set(wanted):
    with nodes.Cluster(folder / "cluster", 3, lease="10s") as cluster:
      load.fill(cluster.owner, arguments.subjects)
      part("commits", "Commits of the log, against a bare C program", lambda: commits(cluster, folder, load, arguments, say), commits_table)
      part("flights", "Several commits in flight", lambda: flights(cluster, arguments, say), flights_table)
      part("clients", "Clients of a node that follows", lambda: clients(cluster, load, arguments, say), clients_table)
      part("catch-up", "Bytes, and a new node", lambda: catching_up(cluster, arguments, load, say), catching_up_table)
  if "take-over" in wanted:
    with nodes.Cluster(folder / "take-over", 3, lease=LEASE) as cluster:
      count = 3 if arguments.quick else 20
      part("take-over", f"Take-over after the owner was killed, lease {LEASE}", lambda: take_overs(cluster, count, say), take_over_table)
  part("events", "Events, against the embedded store", lambda: events(arguments, folder, load, say), events_table)
  part("sustained", "A sustained run", lambda: sustained(folder, arguments, say), sustained_table)
  return title, lines, raw
