"""Tables in Markdown: medians over the rounds, ratios as the median of each round's own ratio."""
import statistics

from . import comparison, machine

NAMES = {"redis": "Redis Functions", "tarantool": "Tarantool", "ruled": "ruled", "gamification": "ruled, gamification",
         "ruled-before": "ruled before", "gamification-before": "ruled before, gamification"}
DURABILITIES = {"commit": "Synced before the reply", "interval": "Synced each second"}
QUIET = 0.35  # processors that other programs may use in a quiet round
GOALS = [
  ("throughput, pipelined, of Redis", "pipelined", "throughput", "redis", 3.0, True),
  ("throughput, pipelined, of Tarantool", "pipelined", "throughput", "tarantool", 2.5, True),
  ("throughput, 50 connections unpipelined, of Redis", "fifty", "throughput", "redis", 1.5, True),
  ("throughput, one connection unpipelined, of Redis", "single", "throughput", "redis", 1.0, True),
  ("p99 at 80 % of Redis's maximum, of Redis's", "offered", "p99_us", "redis", 1.0, False),
  ("processor time of an event, pipelined, of Redis's", "pipelined", "server_cpu_us", "redis", 0.5, False),
]


def events(figures):
  """Roughly how many events the store has seen, for bytes per event: warm-ups and repeats add a few per cent."""
  return sum(figures[shape]["answered"] for shape in ["fill", *comparison.SHAPES, "offered"])


def median(rounds, shape, figure):
  return statistics.median(figures[shape][figure] for figures in rounds)


def ratios(table, key, shape, figure, peer):
  """The rounds' ratios in ascending order, only of quiet rounds if there are any, and the number of quiet rounds."""
  pairs = [(ours[shape], theirs[shape]) for ours, theirs in zip(table[key], table[peer])]
  quiet = [pair for pair in pairs if max(figures["other_cpus"] for figures in pair) <= QUIET]
  return sorted(ours[figure] / max(theirs[figure], 1e-9) for ours, theirs in quiet or pairs), len(quiet)


def ratio(table, key, shape, figure, peer):
  """The median of the rounds' ratios, only of quiet rounds if there are any, and the number of quiet rounds."""
  found, quiet = ratios(table, key, shape, figure, peer)
  return statistics.median(found), quiet


def spread(table, key, shape, figure, peer):
  """The same with the lowest and the highest ratio: a median means little while 1 lies well within them."""
  found, quiet = ratios(table, key, shape, figure, peer)
  return f"{statistics.median(found):.3f} × ({found[0]:.2f} to {found[-1]:.2f}; {quiet})"


def shape_table(table, shape):
  rows = ["| | events/s | p50 | p99 | p99.9 | longest | server's processor time | client's |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
  for key, rounds in table.items():
    figure = lambda name: median(rounds, shape, name)
    rows.append(f"| {NAMES[key]} | {figure('throughput'):,.0f} | {figure('p50_us'):,.0f} µs | {figure('p99_us'):,.0f} µs | "
                f"{figure('p999_us'):,.0f} µs | {figure('max_us') / 1000:,.1f} ms | {figure('server_cpu_us'):.2f} µs | "
                f"{figure('client_cpu_us'):.2f} µs |")
  return rows


def goal_table(table):
  rows = ["| goal, as a ratio | asked | " + " | ".join(NAMES[key] for key in table if key not in comparison.PEERS) + " |",
          "|---|--:|" + "--:|" * sum(key not in comparison.PEERS for key in table)]
  for title, shape, figure, peer, goal, least in GOALS:
    if peer not in table:
      continue
    cells = ["{:.2f} × ({})".format(*ratio(table, key, shape, figure, peer)) for key in table
             if key not in comparison.PEERS]
    rows.append(f"| {title} | {'≥' if least else '≤'} {goal} | " + " | ".join(cells) + " |")
  return rows


def before_table(table):
  """This build as a ratio of the one before, which took turns with it: above 1 is more throughput, or more processor time."""
  pairs = [(key, f"{key}-before") for key in table if f"{key}-before" in table]
  rows = ["| this build, of the one before | " + " | ".join(NAMES[key] for key, _ in pairs) + " |", "|---|" + "--:|" * len(pairs)]
  for shape in comparison.SHAPES:
    for figure, title in [("throughput", "throughput"), ("server_cpu_us", "processor time of an event")]:
      cells = [spread(table, key, shape, figure, before) for key, before in pairs]
      rows.append(f"| {title}, {comparison.TITLES[shape]} | " + " | ".join(cells) + " |")
  return rows


def size_table(table):
  rows = ["| | RSS | on disk | on disk an event |", "|---|--:|--:|--:|"]
  for key, rounds in table.items():
    middle = statistics.median
    rows.append(f"| {NAMES[key]} | {middle(figures['rss_mib'] for figures in rounds):,.0f} MiB | "
                f"{middle(figures['disk_mib'] for figures in rounds):,.0f} MiB | "
                f"{middle(figures['disk_mib'] * 2**20 / events(figures) for figures in rounds):,.0f} B |")
  return rows


def comparison_report(results, arguments):
  pinned = "the server pinned to one processor, the client to the other" if arguments.pin else \
    "nothing pinned but what ruled binds itself: server and client share the processors"
  lines = [f"{arguments.rounds} rounds in turns, {arguments.seconds:g} s a figure after 0.5 s of warm-up, {arguments.subjects:,} "
           f"subjects chosen uniformly, every one known before; {pinned}. Medians of the rounds; a ratio is the "
           f"median of each round's ratio over the quiet rounds (others took {QUIET} processors at most), of all rounds "
           "if none was quiet; the number of quiet rounds is in brackets, for the build before behind the lowest and the highest ratio.", ""]
  for durability, table in results.items():
    lines += [f"### {DURABILITIES[durability]}", "", *goal_table(table), ""]
    if any(key.endswith("-before") for key in table):
      lines += [*before_table(table), ""]
    for shape in [*comparison.SHAPES, "offered"]:
      lines += [comparison.TITLES[shape] + ":", "", *shape_table(table, shape), ""]
    lines += [*size_table(table), ""]
  noise = [figures[shape]["other_cpus"] for table in results.values() for rounds in table.values()
           for figures in rounds for shape in comparison.SHAPES]
  lines.append(f"Noise: what else ran on the machine (the kernel's writing included) took {statistics.median(noise):.2f} "
               f"processors in the median and {max(noise):.2f} at most.")
  return lines


def head(date):
  return [f"# Measured on {date}", "", machine.description() + ".",
          f"{machine.version('redis-server', '--version').split(' sha')[0]}; "
          f"{machine.version('tarantool', '--version')}.", ""]
