"""Compares the store with the clients' replies, after each restart."""
import json
import time

from .daemon import Violation


class Judge:
  """Compares a daemon with its load."""

  def __init__(self, daemon, load, figures):
    self.daemon, self.load, self.figures = daemon, load, figures
    self.retired = {"hits": 0, "tens": 0, "ticks": 0}
    self.names = []  # of retired subjects
    self.ledger_read = 0
    self.delivered = {}  # subject and number to the id of the effect
    self.cut = None  # time of the last power cut, if commits were not synced

  def restarted(self, cut=None):
    """Checks the conditions that hold as soon as the daemon serves again."""
    self.cut = cut
    client = self.daemon.client()
    hitters = self.load.hitters()
    keeps = 5 if self.daemon.durability == "interval" else 0
    replies = client.replies([("state", {"subject": hitter.name}) for hitter in hitters])
    for hitter, reply in zip(hitters, replies):
      hitter.compare(reply, self.figures, cut, keeps)
    self.check_messages(client, are_settled=False)
    first = hitters[:: max(1, len(hitters) // 8)]
    for hitter in first:
      self.repeat(client, hitter)
    client.close()
    for journey in self.load.journeys_under_way():
      journey.restarted(self.load.generator, cut)
    self.figures["checks"] += 1

  def repeat(self, client, hitter):
    """Repeats the last acknowledged event of a subject, which must get its first outcome again."""
    if hitter.outcome is None or hitter.outcome[0] in hitter.sent or hitter.outcome[0] in hitter.open:
      return
    n, first = hitter.outcome
    client.socket.sendall(hitter.line("again", n))
    reply = json.loads(client.file.readline())
    again = reply.get("result", {})
    is_repeat = again.pop("duplicate", False)
    if not is_repeat or again != first:
      raise Violation(f"the repeat of event {n} of {hitter.name} has another answer:\n  {json.dumps(reply)}\n  {json.dumps(first)}")
    self.figures["repeats"] += 1

  def check_messages(self, client, are_settled):
    """Checks that each collector got its subjects' messages in order and once; returns their number, or None if some are pending."""
    hitters = self.load.hitters()
    names = sorted({hitter.collector for hitter in hitters})
    replies = client.replies([("state", {"subject": name}) for name in names])
    received, tens = {}, 0
    for name, reply in zip(names, replies):
      if "error" in reply and reply["error"]["data"]["code"] != "not_found":
        raise Violation(f"the state of {name} can't be read: {json.dumps(reply['error'])}")
      state = reply.get("result", {}).get("plugins", {}).get("tally", {})
      if state.get("disorder"):
        raise Violation(f"messages to {name} were lost, doubled or out of order: {json.dumps(state)}")
      received.update(state.get("last", {}))
      tens += state.get("tens", 0)
    for hitter in hitters:
      sent, had = hitter.state.get("sent", 0), received.get(hitter.name, 0)
      if had > sent:
        raise Violation(f"{hitter.collector} has had {had} messages from {hitter.name}, which has sent {sent}")
      if had < sent:
        if are_settled:
          raise Violation(f"{hitter.collector} has had {had} messages from {hitter.name}, which has sent {sent}: lost")
        return None
    if tens != sum(received.values()):
      raise Violation(f"collectors have counted {tens} messages, and {sum(received.values())} were sent")
    return tens

  def quiet(self, seconds=180):
    """Waits until nothing is pending and compares all accounts: timers, messages, effects, counters."""
    deadline = time.monotonic() + seconds
    client = self.daemon.client()
    hitters = self.load.hitters()
    keeps = 5 if self.daemon.durability == "interval" else 0
    while True:
      is_late = time.monotonic() > deadline
      for hitter, reply in zip(hitters, client.replies([("state", {"subject": hitter.name}) for hitter in hitters])):
        hitter.compare(reply, self.figures, None, keeps)
      tens = self.check_messages(client, is_late)
      pending = [hitter.name for hitter in hitters if hitter.state.get("pending")]
      undelivered = self.read_ledger(hitters)
      if tens is not None and not pending and not undelivered:
        break
      if is_late:
        raise Violation(f"still pending after {seconds} s: timers of {pending[:5]}, effects {undelivered[:5]}")
      time.sleep(0.05)
    accounts = {
      "hits": sum(hitter.state.get("count", 0) for hitter in hitters), "tens": tens,
      "ticks": sum(hitter.state.get("ticked", 0) for hitter in hitters),
    }
    counters = {counter["name"]: counter["value"] for counter in client.reply("counters", {"prefix": "tally."})["result"]}
    for name, value in accounts.items():
      total = value + self.retired[name]
      if counters.get(f"tally.{name}", 0) != total:
        raise Violation(f"the counter tally.{name} is {counters.get(f'tally.{name}', 0)}, and the states say {total}")
    parked = client.reply("parked")["result"]["parked"]
    if parked:
      raise Violation(f"events were parked: {json.dumps(parked)[:1000]}")
    if keeps:
      time.sleep(2.2)  # by then everything is synced
      for hitter, reply in zip(hitters, client.replies([("state", {"subject": hitter.name}) for hitter in hitters])):
        hitter.compare(reply, self.figures)
    client.close()
    self.figures["full accounts"] += 1
    self.retire()

  def retire(self):
    """Removes finished subjects from the accounts that are compared each time."""
    self.load.replenish()
    for hitter in self.load.retired:
      self.retired["hits"] += hitter.state.get("count", 0)
      self.retired["ticks"] += hitter.state.get("ticked", 0)
      self.retired["tens"] += hitter.state.get("sent", 0)
      self.names.append((hitter.name, hitter.next - 1))
      self.delivered = {key: value for key, value in self.delivered.items() if key[0] != hitter.name}
    self.load.retired = []

  def read_ledger(self, hitters):
    """Reads new lines of the sink's file; returns effects of applied events that are not in it."""
    known = {hitter.name: hitter for hitter in hitters}
    if self.daemon.ledger.exists():
      with open(self.daemon.ledger, "rb") as file:
        file.seek(self.ledger_read)
        lines = file.read()
      whole = lines.rfind(b"\n") + 1
      self.ledger_read += whole
      for line in lines[:whole].splitlines():
        self.take(line, known)
    missing = []
    for hitter in hitters:
      last, gaps = hitter.state.get("last", 0), hitter.state.get("missing") or {}
      for n in range(10, last + 1, 10):
        if str(n) not in gaps and (hitter.name, n) not in self.delivered:
          missing.append((hitter.name, n))
    return missing

  def take(self, line, known):
    try:
      effect = json.loads(line)
    except ValueError:
      self.figures["torn lines"] += 1  # killed while writing the line: the effect is delivered again
      return
    subject, n = effect["data"]["subject"], effect["data"]["n"]
    self.figures["effects"] += 1
    if subject not in known:
      return
    if self.delivered.setdefault((subject, n), effect["id"]) != effect["id"]:
      raise Violation(f"the effect {n} of {subject} was delivered under two ids")
    if known[subject].effects.get(n, effect["id"]) != effect["id"]:
      raise Violation(f"the effect {n} of {subject} was delivered under another id than in the outcome")

  def last_look(self):
    """Checks that all subjects of the run have all their events."""
    client = self.daemon.client()
    replies = client.replies([("state", {"subject": name}) for name, _ in self.names])
    for (name, count), reply in zip(self.names, replies):
      state = reply.get("result", {}).get("plugins", {}).get("tally", {})
      if state.get("count") != count or state.get("last") != count or state.get("missing") or state.get("twice"):
        raise Violation(f"{name} no longer holds its {count} events: {json.dumps(reply)[:1000]}")
    client.close()
    self.figures["subjects"] = len(self.names) + len(self.load.hitters())
