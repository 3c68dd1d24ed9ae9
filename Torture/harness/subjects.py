"""The clients' knowledge of each subject: the events sent, the replies, and the store's content that follows from them."""
import collections
import json
import re
import time

from .daemon import CHECKOUT, NOT_APPLIED, Violation

FLIGHT, ACKED, REFUSED, UNKNOWN, ABSENT = "in flight", "acknowledged", "refused", "unknown", "absent"
PER_SUBJECT = 400


class Figures(collections.Counter):
  """Counts over a whole run."""


class Sent:
  """An event that no check has confirmed yet."""

  __slots__ = ("status", "applied", "rank", "at", "tries", "turn")

  def __init__(self):
    self.status, self.at, self.tries, self.turn = FLIGHT, 0.0, 0, 0
    self.rank = None  # the subject's number of events, this one included
    self.applied = False  # whether an earlier try was applied; None if unknown


class Hitter:
  """A subject of the plugin `tally`, which gets events with the numbers 1, 2, 3 …"""

  turns = 0

  def __init__(self, name, collector, padding):
    self.name, self.collector, self.padding = name, collector, padding
    self.next = 1
    self.again = collections.deque()
    self.sent = {}
    self.top = 0  # the highest number that a check found applied
    self.open = set()  # lower numbers that were not applied
    self.latest = None  # turn and version of the last new acknowledgement on this connection
    self.outcome = None  # the last acknowledged number with its outcome
    self.effects = {}
    self.state = {}

  @property
  def is_done(self):
    """Whether it has had all its events, and all are applied."""
    return self.next > PER_SUBJECT and not self.sent

  def request(self, token):
    """The number of the next event to send, and its line."""
    if self.again:
      n = self.again.popleft()
    else:
      n, self.next = self.next, self.next + 1
    sent = self.sent.get(n)
    if sent is None:
      sent = self.sent[n] = Sent()
    sent.status = FLIGHT
    Hitter.turns += 1
    sent.tries, sent.turn = sent.tries + 1, Hitter.turns
    return n, self.line(token, n)

  def line(self, token, n):
    pad = f',"pad":{self.padding}' if self.padding and n % 2 == 0 else ""
    data = f'{{"n":{n},"to":"{self.collector}","delay":{n % 8 / 8}{pad}}}'
    return (f'{{"jsonrpc":"2.0","id":"{token}","method":"event","params":{{"type":"hit","subject":"{self.name}",'
            f'"id":"{n}","data":{data}}}}}\n').encode()

  def answered(self, n, reply, figures):
    sent = self.sent[n]
    error = reply.get("error")
    if error is not None:
      code = error.get("data", {}).get("code")
      if code in NOT_APPLIED:
        figures["refused"] += 1
        sent.status = REFUSED if sent.applied is False else UNKNOWN
      elif code == "outcome_unknown":
        figures["told unknown"] += 1
        self.forget_fate(sent)
      else:
        raise Violation(f"event {n} of {self.name} was answered {json.dumps(error)}")
      self.again.append(n)
      return
    outcome = reply["result"]
    figures["acknowledged"] += 1
    if outcome["failures"]:
      raise Violation(f"event {n} of {self.name} failed: {json.dumps(outcome['failures'])}")
    late, repeated = outcome["decisions"].get("tally", {}).get("late", False), outcome["duplicate"]
    if repeated and sent.applied is False:
      raise Violation(f"event {n} of {self.name} was answered as a repeat, and no try of it was applied: {sent.tries} tries")
    if not repeated and sent.applied is True:
      raise Violation(f"event {n} of {self.name} was applied, and its repeat is answered as if it were not")
    if late and sent.tries < 2:
      raise Violation(f"event {n} of {self.name} was applied out of order")
    if not repeated:
      if self.latest is not None and (sent.turn > self.latest[0]) != (outcome["version"] > self.latest[1]):
        raise Violation(f"event {n} of {self.name} has version {outcome['version']}, in another order than it was sent: {self.latest}")
      self.latest = (sent.turn, outcome["version"])
    for effect in outcome["effects"]:
      if self.effects.setdefault(n, effect["id"]) != effect["id"]:
        raise Violation(f"the effect of event {n} of {self.name} has two ids")
    sent.status, sent.rank, sent.at = ACKED, outcome["decisions"]["tally"]["count"], time.monotonic()
    self.outcome = (n, {key: value for key, value in outcome.items() if key != "duplicate"})

  def broken(self, n):
    """The connection closed before the answer."""
    self.forget_fate(self.sent[n])

  def forget_fate(self, sent):
    sent.status = UNKNOWN
    if sent.applied is False:
      sent.applied = None

  def compare(self, reply, figures, cut=None, keeps=0):
    """Compares the store with this knowledge; `cut` is the time of the power cut, if commits were not synced.

    Events acknowledged in the last `keeps` seconds may still be lost by a power cut, so they stay unconfirmed.
    """
    state, version = self.read(reply)
    last, missing = state.get("last", 0), {int(n) for n in state.get("missing") or {}}
    is_applied = lambda n: n <= last and n not in missing
    wrong = lambda what: Violation(f"{self.name}: {what}\n  state {json.dumps(state)[:1500]}, version {version}")
    if last >= self.next:
      raise wrong(f"number {last} was applied and never sent")
    lost = []
    for n in missing - self.open | (set(range(last + 1, self.top + 1)) - self.open):
      if n <= self.top and n not in self.sent:
        lost.append((n, None))
    for n, sent in self.sent.items():
      applied = is_applied(n)
      if sent.status == ACKED and not applied:
        lost.append((n, sent))
      elif sent.status in (REFUSED, ABSENT) and applied:
        figures["refused and applied"] += 1
        raise wrong(f"event {n} was {sent.status} and is applied")
      elif sent.status == ACKED and sent.rank > state["count"]:
        raise wrong(f"event {n} was the {sent.rank}th that was applied, and is there while earlier ones are not")
    if lost:
      self.lose(lost, state.get("count", 0), cut, wrong, figures)
    self.look_into(state, version, last, missing, wrong)
    now = time.monotonic()
    for n, sent in list(self.sent.items()):
      if not is_applied(n):
        if sent.status == UNKNOWN:
          figures["unknown, absent"] += 1
        sent.status, sent.applied = ABSENT, False
      elif sent.status == UNKNOWN:  # it is sent again, and must be answered as a repeat
        figures["unknown, applied"] += sent.applied is None
        sent.applied = True
      elif sent.at <= now - keeps:
        del self.sent[n]
    self.top = max(self.top, last)
    self.open = {n for n in range(1, self.top + 1) if not is_applied(n)} if missing or last < self.top else set()
    self.again = collections.deque(sorted(n for n, sent in self.sent.items() if sent.status != ACKED))
    self.latest, self.state = None, state

  def read(self, reply):
    if "error" in reply:
      if reply["error"]["data"]["code"] != "not_found":
        raise Violation(f"the state of {self.name} can't be read: {json.dumps(reply['error'])}")
      return {}, 0
    found = reply["result"]
    if self.padding and "padding" in found["plugins"]:
      padding = found["plugins"]["padding"]
      if padding.get("text", "") != chr(97 + padding["n"] % 26) * self.padding:
        raise Violation(f"the padding of {self.name} is torn: {json.dumps(padding)[:200]}")
    return found["plugins"].get("tally", {}), found["version"]

  def lose(self, lost, count, cut, wrong, figures):
    """Some acknowledged events are not there: right only behind a power cut without syncs, and only the last ones."""
    age = max((cut - sent.at if sent else 1e9) for _, sent in lost) if cut is not None else None
    if age is None or age > 2.5:
      figures["lost"] += len(lost)
      when = "" if age is None or age > 1e6 else f", {age:.1f} s before the power was cut"
      raise wrong(f"{len(lost)} acknowledged events are lost{when}: {sorted(n for n, _ in lost)[:20]}")
    for n, sent in lost:
      if sent.rank is not None and sent.rank <= count:
        raise wrong(f"event {n} is lost, and later ones are not: a hole")
    figures["lost of the last second"] += len(lost)
    figures["oldest lost, ms"] = max(figures["oldest lost, ms"], int(1000 * age))

  def look_into(self, state, version, last, missing, wrong):
    """Whether the traces of each event are there as a whole or not at all."""
    groups = {(n - 1) // 7 for n in range(1, last + 1) if n not in missing} if missing else range((last + 6) // 7)
    expected = {
      "count": last - len(missing), "sevens": len(groups), "sent": last // 10 - sum(n % 10 == 0 for n in missing),
      "armed": (last + 5) // 10 - sum(n % 10 == 5 for n in missing), "twice": 0, "tickedTwice": 0,
    }
    for name, value in expected.items():
      if state.get(name, 0) != value:
        raise wrong(f"`{name}` is {state.get(name, 0)}, and not {value}")
    ticked = state.get("ticked", 0)
    if version != state.get("count", 0) + ticked:
      raise wrong(f"version {version} is not that of {state.get('count', 0)} events and {ticked} timers")
    if ticked + len(state.get("pending") or {}) != state.get("armed", 0):
      raise wrong("timers were lost or doubled")


class Journey:
  """A day of one product as in `examples/`, under names of its own, one event at a time."""

  def __init__(self, template, suffix):
    self.product = template.product
    self.events = template.named(suffix)
    self.deletions = template.deletions
    self.index = 0
    self.outcomes = []  # of acknowledged events: the reply that must come again, and its time
    self.status = None
    self.may_be_applied = False  # the event at `index`, by an earlier try
    self.repeats = collections.deque()
    self.cut = None  # when the power was cut, while all is sent again behind that
    self.has_lost = False

  @property
  def is_done(self):
    return self.index == len(self.events) and not self.repeats

  def request(self, token):
    if self.status == FLIGHT:
      return None
    index = self.repeats.popleft() if self.repeats else self.index
    if index == len(self.events):
      return None
    self.status = FLIGHT
    return index, b'{"jsonrpc":"2.0","id":"' + token.encode() + b'","method":"event","params":' + self.events[index][1] + b"}\n"

  def answered(self, index, reply, figures):
    error = reply.get("error")
    if error is not None:
      code = error.get("data", {}).get("code")
      if code not in NOT_APPLIED and code != "outcome_unknown":
        raise Violation(f"event {index} of {self.product} was answered {json.dumps(error)}")
      figures["refused" if code in NOT_APPLIED else "told unknown"] += 1
      self.status = None
      if index < self.index:
        self.repeats.appendleft(index)
      elif code == "outcome_unknown":
        self.may_be_applied = True
      return
    outcome = reply["result"]
    figures["acknowledged"] += 1
    figures["of products"] += 1
    self.status = None
    repeated = outcome.pop("duplicate")
    name = f"event {self.events[index][1].decode()} of {self.product}"
    if outcome["failures"]:
      raise Violation(f"{name} failed: {json.dumps(outcome['failures'])}")
    if index == self.index:
      if repeated and not self.may_be_applied:
        raise Violation(f"{name} was answered as a repeat, and no try of it was applied")
      self.may_be_applied = False
      self.outcomes.append((outcome, time.monotonic()))
      self.index += 1
      return
    first, at = self.outcomes[index]
    if repeated:
      if self.has_lost:
        raise Violation(f"{name} is there, and an earlier one is lost: a hole")
      if outcome != first:
        raise Violation(f"the repeat of {name} is answered otherwise:\n  {json.dumps(outcome)}\n  {json.dumps(first)}")
      figures["repeats"] += 1
      return
    if self.cut is None or self.cut - at > 2.5:
      figures["lost"] += 1
      raise Violation(f"{name} was acknowledged and is lost: {json.dumps(outcome)}")
    self.has_lost = True
    figures["lost of the last second"] += 1
    self.outcomes[index] = (outcome, time.monotonic())

  def broken(self, index):
    """The connection closed before the answer."""
    self.status = None
    if index < self.index:
      self.repeats.appendleft(index)
    else:
      self.may_be_applied = True

  def restarted(self, generator, cut=None):
    """Has some events repeated that must be remembered; all of them behind a power cut without syncs."""
    self.has_lost = False
    # The end of an account erases outcomes up to its own.
    begun = self.index + self.may_be_applied
    remembered = range(max((index + 1 for index in self.deletions if index < begun), default=0), self.index)
    if cut is None and not (self.repeats and self.cut is not None):
      self.cut = None
      self.repeats = collections.deque(sorted(generator.sample(remembered, min(3, len(remembered)))))
    else:
      for index in self.repeats if self.cut is not None else ():
        self.outcomes[index] = (self.outcomes[index][0], time.monotonic())  # lost by the cut before, perhaps, and not looked at since
      self.cut = cut or self.cut
      self.repeats = collections.deque(remembered)


class Template:
  """The events of one file of `examples/`, to be sent under other names."""

  def __init__(self, path):
    self.product = path.stem
    self.events = [json.loads(line) for line in path.read_text().splitlines()]
    self.names = {event["subject"].split(":")[1] for event in self.events}
    self.deletions = [index for index, event in enumerate(self.events) if event["type"] == "account.deleted"]

  def named(self, suffix):
    """Subject and JSON of each event, with the names of subjects and the ids made this suffix's own."""
    found = []
    for event in self.events:
      event = dict(event, subject=f"{event['subject']}.{suffix}", id=f"{event['id']}.{suffix}", data=self.renamed(event["data"], suffix))
      found.append((event["subject"], json.dumps(event).encode()))
    return found

  def renamed(self, value, suffix):
    if isinstance(value, dict):
      return {key: self.renamed(inner, suffix) for key, inner in value.items()}
    if isinstance(value, list):
      return [self.renamed(inner, suffix) for inner in value]
    if isinstance(value, str) and (value in self.names or re.fullmatch(r"(user|device|area):[\w-]+", value)):
      return f"{value}.{suffix}"
    return value


def templates():
  return [Template(path) for path in sorted((CHECKOUT / "examples").glob("*.ndjson"))]
