"""Members of a topic: how fast they join, how fast a publication tells them beside messages of the same rule, what memory that takes, and the latency
of other subjects' events meanwhile."""
import concurrent.futures
import shutil
import time

from .. import place, servers
from ..load import Load

MEMBERS = 1_000_000
EACH = 1_000  # the messages of one event
OTHERS = 2_000  # events a second of other subjects


def told(server):
  return sum(counter["value"] for counter in server.ask("counters", prefix="topics.told"))


def send_each(server, members, type, n):
  """Has every member get a message, from events of 1,000 messages each, and waits until all are applied."""
  for first in range(0, members, EACH):
    server.ask("event", type="each", subject=f"sender:{first // EACH % 64}",
               data={"from": first, "to": min(members, first + EACH) - 1, "type": type, "n": n})
  while server.ask("health")["messages"]["waiting"]:
    time.sleep(0.02)


def publish(server, members, n):
  before = told(server)
  server.ask("event", type="publish", subject="publisher", data={"n": n})
  while told(server) < before + members:
    time.sleep(0.02)


def timed(body, *arguments):
  begun = time.monotonic()
  body(*arguments)
  return time.monotonic() - begun


def run(arguments, folder, say):
  members = MEMBERS // 20 if arguments.quick else MEMBERS
  load = Load(max(arguments.seconds, 3), patience=arguments.patience)
  others = {"connections": 16, "pipeline": 1, "rate": OTHERS, "subjects": arguments.subjects}
  raw = {}
  rules = [place.BENCHMARKS / "rules" / name for name in ("streaks", "topics")]
  with servers.Ruled("ruled", folder / "topics", "interval", plugins=rules) as server:
    load.fill(server, arguments.subjects)
    for title, body in {
      "joining, by messages": (send_each, "join", 0), "messages": (send_each, "told", 1), "a publication": (publish, 2),
    }.items():
      call, *more = body
      memory = server.memory_mib()
      seconds = timed(call, server, members, *more)
      raw[title] = {"rate": members / seconds, "memory_mib": server.memory_mib() - memory}
      say(f"{title}: {members / seconds:,.0f}/s, {raw[title]['memory_mib']:+.0f} MiB")
    for title, body in {"nothing": None, "messages": (send_each, "told", 3), "a publication": (publish, 4)}.items():
      with concurrent.futures.ThreadPoolExecutor() as pool:
        busy = pool.submit(body[0], server, members, *body[1:]) if body else None
        raw[f"others beside {title}"] = load.once(server, **others)
        say(f"{OTHERS:,} events/s beside {title}: p99 {raw[f'others beside {title}']['p99_us']:,.0f} µs")
        if busy:
          busy.result()
    begun = time.monotonic()
    if server.ask("query", name="topics.members") != members:
      place.fail("not every member has joined")
    raw["count_us"] = (time.monotonic() - begun) * 1e6
  shutil.rmtree(folder / "topics", ignore_errors=True)
  return "Topics", table(raw, members), raw


def table(raw, members):
  rows = [f"{members:,} members.", "", "| | subjects/s | memory |", "|---|--:|--:|"]
  for title in ("joining, by messages", "messages", "a publication"):
    rows.append(f"| {title} | {raw[title]['rate']:,.0f} | {raw[title]['memory_mib']:+.0f} MiB |")
  ratio = raw["a publication"]["rate"] / raw["messages"]["rate"]
  rows += ["", f"A publication tells members at {ratio:.2f} of the rate of messages. `topic.count` took {raw['count_us']:,.0f} µs.", "",
           f"| {OTHERS:,} events/s of others beside | p50 | p99 |", "|---|--:|--:|"]
  for title in ("nothing", "messages", "a publication"):
    figures = raw[f"others beside {title}"]
    rows.append(f"| {title} | {figures['p50_us']:,.0f} µs | {figures['p99_us']:,.0f} µs |")
  return rows
