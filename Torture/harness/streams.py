"""Clients with many events in flight about many subjects, and whether one process could have answered so."""

import collections
import json
import random
import select
import socket
import threading
import time

PLUGIN = """
plugin { name = "stream", version = "1.0.0", about = "Leaves something of each kind in a commit.", sinks = { "ledger" } }
local function add(state, name) state[name] = (state[name] or 0) + 1 end
rule "hit" {
  on = "stream.hit",
  run = function(event, state)
    local n = event.data.number
    state.numbers = state.numbers or {}
    state.numbers[#state.numbers + 1] = n
    decide("position", #state.numbers)
    count("stream.hits")
    if once("four:" .. n // 4) then add(state, "fours") end
    if n % 3 == 0 then
      state.sent = state.sent or {}
      add(state.sent, event.data.to)
      send(event.data.to, "stream.note", { from = event.subject, k = state.sent[event.data.to] })
    end
    if n % 5 == 0 then
      add(state, "armed")
      timer.set("tick:" .. n, now() + 0.3, "stream.tick", { n = n })
    end
    if n % 7 == 0 then emit("ledger", "seven", { subject = event.subject, n = n }, { key = "seven:" .. n }) end
  end,
}
rule "note" {
  on = "stream.note",
  run = function(event, state)
    state.last = state.last or {}
    if event.data.k ~= (state.last[event.data.from] or 0) + 1 then add(state, "disorder") end
    state.last[event.data.from] = event.data.k
    count("stream.notes")
  end,
}
rule "tick" {
  on = "stream.tick",
  run = function(event, state)
    local key = tostring(event.data.n)
    state.ticked = state.ticked or {}
    if state.ticked[key] then add(state, "twice") end
    state.ticked[key] = true
    count("stream.ticks")
  end,
}
"""

# How many requests of a connection have no answer at most, and for how many seconds one may have none.
WINDOW = 24
PATIENCE = 60


class Hit:
  """An event, which is sent once."""

  def __init__(self, subject, number, to):
    self.subject, self.number, self.to = subject, number, to
    # "acknowledged", "refused" (nothing was applied) or "unknown".
    self.outcome, self.position, self.end = "unknown", None, None

  def request(self, id, choice):
    event = {
      "type": "stream.hit", "subject": self.subject, "id": str(self.number), "source": "stream",
      "data": {"number": self.number, "to": self.to},
    }
    if choice.random() < 0.1:
      event["wait"] = "cascade"
    return {"jsonrpc": "2.0", "id": id, "method": "event", "params": event}

  def take(self, reply):
    self.end = time.monotonic()
    if "result" in reply:
      self.outcome, self.position = "acknowledged", reply["result"]["decisions"]["stream"]["position"]
    elif reply["error"]["data"]["code"] in ("unavailable", "overloaded") and "may have taken effect" not in reply["error"]["message"]:
      self.outcome = "refused"


class Look:
  """A read of a subject's state."""

  def __init__(self, subject):
    self.subject, self.begin, self.numbers = subject, time.monotonic(), None

  def request(self, id, _):
    return {"jsonrpc": "2.0", "id": id, "method": "state", "params": {"subject": self.subject}}

  def take(self, reply):
    if "result" in reply:
      self.numbers = list(reply["result"]["plugins"].get("stream", {}).get("numbers", []))
    elif reply["error"]["data"]["code"] == "not_found":
      self.numbers = []


class Stream:
  """A client of one node with subjects of its own; `runs` has what each of its connections has sent about each subject, in order."""

  def __init__(self, node, subjects, everyone, seed):
    self.node, self.subjects, self.everyone = node, subjects, everyone
    self.choice = random.Random(seed)
    self.next = collections.Counter()
    self.runs, self.waiting, self.hung = [], {}, []
    self.acknowledged = self.count = 0
    self.is_ending = threading.Event()
    self.thread = threading.Thread(target=self.run, daemon=True)
    self.thread.start()

  def run(self):
    while not self.is_ending.is_set():
      try:
        with socket.socket(socket.AF_UNIX) as connection:
          connection.settimeout(5)
          connection.connect(self.node.socket)
          self.serve(connection)
      except OSError:
        pass
      self.waiting = {}
      time.sleep(0.05)

  def serve(self, connection):
    sent = collections.defaultdict(list)
    self.runs.append(sent)
    rest, moved = b"", time.monotonic()
    while not self.is_ending.is_set() or self.waiting:
      if not self.waiting:
        moved = time.monotonic()
      if len(self.waiting) < WINDOW and not self.is_ending.is_set():
        connection.sendall(self.burst(sent))
      if not select.select([connection], [], [], 0.05)[0]:
        if time.monotonic() - moved > PATIENCE:
          self.hung += [item.subject for items in self.waiting.values() for item in items]
          return
        continue
      if not (bytes := connection.recv(1 << 20)):
        return
      moved = time.monotonic()
      *lines, rest = (rest + bytes).split(b"\n")
      for line in lines:
        self.take(json.loads(line))

  def burst(self, sent):
    """Some requests about a few subjects, in the forms that clients use."""
    text = b""
    for subject in self.choice.sample(self.subjects, 2):
      for _ in range(self.choice.randrange(1, 5)):
        item = self.item(subject)
        others = [self.item(self.choice.choice(self.subjects)) for _ in range(2)] if self.choice.random() < 0.03 else []
        requests = []
        for one in [item, *others]:
          self.count += 1
          sent[one.subject].append(one)
          requests.append(one.request(self.count, self.choice))
        self.waiting[requests[0]["id"]] = [item, *others]
        if others:
          text += json.dumps(requests).encode() + b"\n"
        elif self.choice.random() < 0.8:
          text += json.dumps(requests[0], separators=(",", ":")).encode() + b"\n"
        else:
          # Not in the form that is recognised without parsing.
          text += json.dumps(dict(reversed(requests[0].items()))).encode() + b"\n"
    return text

  def item(self, subject):
    if self.choice.random() < 0.15:
      return Look(subject)
    self.next[subject] += 1
    return Hit(subject, self.next[subject], self.choice.choice(self.everyone))

  def take(self, reply):
    replies = reply if isinstance(reply, list) else [reply]
    first = min(one["id"] for one in replies)
    items = self.waiting.pop(first)
    for one in replies:
      item = items[one["id"] - first]
      item.take(one)
      self.acknowledged += isinstance(item, Hit) and item.outcome == "acknowledged"


class Streams:
  """Several such clients through each node."""

  def __init__(self, nodes, seed, prefix, each=2, subjects=16):
    names = [f"{prefix}-{number}" for number in range(len(nodes) * each * subjects)]
    self.nodes = nodes
    self.streams = [
      Stream(node, names[index * subjects : (index + 1) * subjects], names, f"{seed}-stream-{index}")
      for index, node in enumerate(list(nodes) * each)
    ]

  def end(self):
    for stream in self.streams:
      stream.is_ending.set()
    for stream in self.streams:
      stream.thread.join()

  @property
  def acknowledged(self):
    return sum(stream.acknowledged for stream in self.streams)

  def check(self, owner, accounts, awaits_timers=True):
    """The contradictions; an empty list if one process could have answered so.

    `accounts` has what the counters had before, and is brought up to date. Timers may fire hours later if clocks were set.
    """
    self.stale, self.reads, self.awaits_timers = [], 0, awaits_timers
    wrong = [f"{subject}: a request has had no reply for {PATIENCE} s" for stream in self.streams for subject in stream.hung]
    states = self.settle(owner, wrong)
    for stream in self.streams:
      for subject in stream.subjects:
        wrong += [f"{subject}: {problem}" for problem in self.problems(stream, subject, states[subject].get("numbers", []))]
    wrong += self.check_accounts(owner, states, accounts)
    wrong += self.check_effects(states)
    return wrong

  def settle(self, owner, wrong):
    """The states, once nothing is under way."""
    end = time.monotonic() + 60
    while True:
      states = {subject: self.state(owner, subject) for stream in self.streams for subject in stream.subjects}
      problems = list(self.unsettled(states))
      if not problems or time.monotonic() > end:
        wrong += problems
        return states
      time.sleep(0.5)

  @staticmethod
  def state(owner, subject):
    for _ in range(600):
      reply = owner.call("state", {"subject": subject})
      if reply and "result" in reply:
        return reply["result"]["plugins"].get("stream") or {}
      if reply and reply["error"]["data"]["code"] == "not_found":
        return {}
      time.sleep(0.1)
    return {}

  def unsettled(self, states):
    for subject, state in states.items():
      if state.get("disorder") or state.get("twice"):
        yield f"{subject}: messages or timers were lost, doubled or out of order: {state.get('disorder')}, {state.get('twice')}"
      if self.awaits_timers and len(state.get("ticked") or {}) != state.get("armed", 0):
        yield f"{subject}: {len(state.get('ticked') or {})} of {state['armed']} timers have fired"
      if state.get("fours", 0) != len({number // 4 for number in state.get("numbers", [])}):
        yield f"{subject}: `once` was true {state.get('fours', 0)} times"
      for other, count in dict(state.get("sent") or {}).items():
        had = dict(states[other].get("last") or {}).get(subject, 0)
        if had != count:
          yield f"{other}: {had} of {count} messages from {subject} have come"

  def problems(self, stream, subject, numbers):
    positions = {number: position for position, number in enumerate(numbers, 1)}
    if len(positions) != len(numbers):
      yield f"{len(numbers) - len(positions)} events took effect twice"
    runs = [run[subject] for run in stream.runs if subject in run]
    hits = {item.number: item for run in runs for item in run if isinstance(item, Hit)}
    for number, hit in hits.items():
      if hit.outcome == "acknowledged" and positions.get(number) != hit.position:
        yield f"{number} was told to be number {hit.position}, and is {positions.get(number)}"
      if hit.outcome == "refused" and number in positions:
        yield f"{number} was refused, and took effect"
    yield from (f"{number} was never sent" for number in positions if number not in hits)
    for run in runs:
      last, before = 0, []
      for index, item in enumerate(run):
        if isinstance(item, Hit):
          if item.outcome == "acknowledged":
            if item.position < last:
              yield f"{item.number} stands before what the same connection sent before it"
            last = max(last, item.position)
            before.append(item)
        elif item.numbers is not None:
          self.reads += 1
          seen = set(item.numbers)
          if item.numbers != numbers[: len(item.numbers)]:
            yield f"a read showed what never was: {item.numbers[-3:]} at the end of {len(item.numbers)}"
          if missing := [hit.number for hit in before if hit.number not in seen]:
            if any(hits[number].end < item.begin for number in missing):
              self.stale.append(f"{subject} by {stream.node.name} lacked {missing[-3:]}")
            else:
              yield f"a read lacked {missing[-3:]}, which the same connection sent before it"
          if early := [hit.number for hit in run[index + 1 :] if isinstance(hit, Hit) and hit.number in seen]:
            yield f"a read showed {early[:3]}, which the same connection sent after it"

  def check_accounts(self, owner, states, accounts):
    accounts["stream.hits"] += sum(len(state.get("numbers", [])) for state in states.values())
    accounts["stream.ticks"] += sum(state.get("armed", 0) for state in states.values())
    accounts["stream.notes"] += sum(sum(dict(state.get("sent") or {}).values()) for state in states.values())
    end = time.monotonic() + 180
    while True:
      reply = owner.call("counters", {"prefix": "stream."})
      found = {one["name"]: one["value"] for one in reply["result"]} if reply and "result" in reply else {}
      wrong = [
        f"the counter {name} is {found.get(name, 0)}, and the states say {value}" for name, value in accounts.items()
        if found.get(name, 0) != value and (self.awaits_timers or name != "stream.ticks")]
      if not wrong or time.monotonic() > end:
        return wrong
      time.sleep(0.5)

  def check_effects(self, states):
    """Each effect is in a sink's file of one of the nodes; maybe several times, as a node may be killed once it is there."""
    wanted = {(subject, number) for subject, state in states.items() for number in state.get("numbers", []) if number % 7 == 0}
    end = time.monotonic() + 60
    while True:
      found = set()
      for node in self.nodes:
        path = node.folder / "ledger.ndjson"
        for line in path.read_bytes().split(b"\n") if path.exists() else []:
          try:
            data = json.loads(line)["data"]
          except ValueError:
            continue  # the end of a killed node's file
          found.add((data["subject"], data["n"]))
      missing = wanted - found
      if not missing or time.monotonic() > end:
        return [f"{subject}: the effect of {number} never left" for subject, number in sorted(missing)]
      time.sleep(0.5)

