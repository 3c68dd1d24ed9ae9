"""The requests and replies of clients of several nodes, and whether one process could have answered so."""

import random
import threading
import time

from .nodes import going_on, wait, without_mark


class Operation:
  """An event that a client sent, maybe several times, with all answers that it got."""

  def __init__(self, client, subject, number):
    self.client, self.subject, self.number = client, subject, number
    self.begin, self.end = time.monotonic(), None
    # Each attempt: "acknowledged", "refused" (nothing was applied) or "unknown".
    self.attempts, self.outcomes = [], []

  @property
  def event(self):
    return {
      "type": "tally.add", "subject": self.subject, "id": f"{self.client}-{self.number}", "source": "history",
      "data": {"number": f"{self.client}-{self.number}"},
    }

  @property
  def is_acknowledged(self):
    return "acknowledged" in self.attempts

  @property
  def is_refused(self):
    return set(self.attempts) == {"refused"}

  @property
  def position(self):
    """Where in the subject's numbers the first outcome says that it stands."""
    return self.outcomes[0]["decisions"]["tally"]["position"]


class Read:
  """A reply to a client about a subject's numbers."""

  def __init__(self, subject, begin, numbers):
    self.subject, self.begin, self.numbers = subject, begin, numbers


class History:
  """Clients that record every operation."""

  def __init__(self, nodes, seed, clients=8, subjects=4, prefix="s"):
    self.nodes, self.operations, self.reads, self.is_ending = nodes, [], [], threading.Event()
    self.subjects = [f"{prefix}:{number}" for number in range(subjects)]
    self.found, self.stale = {}, []
    self.progress = [0] * clients
    self.threads = [threading.Thread(target=self.run, args=(number, random.Random(f"{seed}-{number}")), daemon=True) for number in range(clients)]
    for thread in self.threads:
      thread.start()

  def run(self, client, choice):
    subject = self.subjects[client % len(self.subjects)]
    node, number, done = choice.randrange(len(self.nodes)), 0, []
    while not self.is_ending.is_set():
      operation = Operation(client, subject, number)
      number += 1
      self.operations.append(operation)
      tries = choice.choice([1, 2, 1000])
      while not operation.is_acknowledged and len(operation.attempts) < tries and not self.is_ending.is_set():
        self.attempt(operation, node)
        if not operation.is_acknowledged:
          node = (node + 1) % len(self.nodes)
          time.sleep(0.02 + 0.1 * choice.random())
      operation.end = time.monotonic()
      if operation.is_acknowledged:
        self.progress[client] += 1
        done.append(operation)
      if done and choice.random() < 0.1:
        self.attempt(choice.choice(done), node)  # a repeat gets the first outcome
      if choice.random() < 0.1:
        self.read(subject, choice.randrange(len(self.nodes)))
      time.sleep(0.01)

  def read(self, subject, node):
    begin = time.monotonic()
    numbers = numbers_of(self.nodes[node].call("state", {"subject": subject}, seconds=8))
    if numbers is not None:
      self.reads.append(Read(subject, begin, numbers))

  def attempt(self, operation, node):
    # Counted as unknown until the answer is there.
    operation.attempts.append("unknown")
    at = len(operation.attempts) - 1
    reply = self.nodes[node].call("event", operation.event, seconds=8)
    if reply is None:
      return
    if "result" in reply:
      operation.outcomes.append(reply["result"])
      operation.attempts[at] = "acknowledged"
    elif reply["error"]["data"]["code"] in ("unavailable", "overloaded") and "may have taken effect" not in reply["error"]["message"]:
      operation.attempts[at] = "refused"

  def has_gone_on(self):
    """A function that tells whether each client goes on."""
    return going_on(self.progress)

  def end(self):
    self.is_ending.set()
    for thread in self.threads:
      thread.join()

  def check(self, node):
    """The contradictions between the clients' replies and the state of `node`; an empty list if one process could have answered so.

    Afterwards `found` has the numbers of each subject, and `stale` the reads that lacked events acknowledged before they began.
    """
    wrong = []
    for subject in self.subjects:
      numbers = state_of(node, subject)
      self.found[subject] = numbers
      positions = {number: position for position, number in enumerate(numbers, 1)}
      operations = {f"{one.client}-{one.number}": one for one in self.operations if one.subject == subject}
      if len(positions) != len(numbers):
        wrong.append(f"{subject}: {len(numbers) - len(positions)} events took effect twice")
      wrong += [f"{subject}: {name} was never sent" for name in positions if name not in operations]
      for name, one in operations.items():
        wrong += [f"{subject}: {name} {problem}" for problem in self.problems(one, positions.get(name))]
      wrong += self.disorder(subject, [operations[name] for name in numbers if name in operations])
      wrong += self.misread(subject, numbers, operations)
    return wrong

  def misread(self, subject, numbers, operations):
    """Each read shows how the state once was: nothing that never took effect, and nothing in another order."""
    ends = [operations[name].end if name in operations and operations[name].is_acknowledged else None for name in numbers]
    for read in (read for read in self.reads if read.subject == subject):
      count = len(read.numbers)
      if read.numbers != numbers[:count]:
        yield f"{subject}: a read showed what never was: {read.numbers[-3:]} at the end of {count}"
      elif any(end is not None and end < read.begin for end in ends[count:]):
        self.stale.append(read)

  @staticmethod
  def problems(one, position):
    if one.is_acknowledged and position is None:
      yield "was acknowledged and is lost"
    if one.is_refused and position is not None:
      yield "was refused each time, and took effect"
    if one.outcomes and position is not None and one.position != position:
      yield f"was told to be number {one.position}, and is number {position}"
    plain = [without_mark(outcome) for outcome in one.outcomes]
    if any(other != plain[0] for other in plain[1:]):
      yield "got another outcome when it was sent again"

  @staticmethod
  def disorder(subject, ordered):
    """An operation that ended before another one began stands before it: so says real time."""
    latest = None
    for one in reversed(ordered):
      # `latest` is the earliest end of all that stand behind.
      if latest and latest.end is not None and latest.is_acknowledged and latest.end < one.begin:
        yield f"{subject}: {latest.client}-{latest.number} ended before {one.client}-{one.number} began, and stands behind it"
      if one.is_acknowledged and one.end is not None and (latest is None or one.end < latest.end):
        latest = one

  def summary(self):
    counts = {"acknowledged": 0, "refused": 0, "unknown": 0, "sent again": 0}
    for one in self.operations:
      counts["acknowledged" if one.is_acknowledged else "refused" if one.is_refused else "unknown"] += 1
      counts["sent again"] += max(0, len(one.attempts) - 1)
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def numbers_of(reply):
  """The numbers in a reply to `state`; None if it is an error, or none came."""
  if not reply or "result" not in reply:
    return None
  return reply["result"]["plugins"].get("tally", {}).get("numbers", [])


def state_of(node, subject, seconds=60):
  """The numbers of a subject, as soon as a node has a reply."""
  found = []

  def is_read():
    found.append(numbers_of(node.call("state", {"subject": subject})))
    return found[-1] is not None

  wait(is_read, seconds, f"the state of {subject} can't be read")
  return found[-1]

