"""The clients: connections with many events in flight, which record the answer to each."""
import json
import select
import selectors
import socket
import time

from .daemon import Violation
from .subjects import Hitter, Journey

HITTERS = 8  # per connection, in groups that share one collector
WINDOW = 64
JOURNEYS = 12


class Connection:
  """One connection and its subjects; all events of a subject use the same connection."""

  def __init__(self, number, sources, window):
    self.number, self.sources, self.window = number, sources, window
    self.socket = None
    self.waiting = {}
    self.count = 0

  def open(self, path):
    self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    self.socket.connect(path)
    self.socket.setblocking(False)
    self.outgoing, self.incoming = bytearray(), bytearray()

  def fill(self):
    """Adds requests until the window is full or no subject has one."""
    idle = 0
    sources = self.sources
    while len(self.waiting) < self.window and idle < len(sources) and len(self.outgoing) < 1 << 20:
      source = sources[self.count % len(sources)]
      self.count += 1
      token = f"{self.number}.{self.count}"
      request = source.request(token)
      if request is None:
        idle += 1
        continue
      idle = 0
      self.waiting[token] = (source, request[0])
      self.outgoing += request[1]

  def send(self):
    if self.outgoing:
      try:
        del self.outgoing[: self.socket.send(self.outgoing)]
      except BlockingIOError:
        pass
      except OSError:
        self.outgoing.clear()  # earlier answers may still be read

  def receive(self, figures):
    """Reads answers; returns whether the connection is still open."""
    try:
      bytes = self.socket.recv(1 << 20)
    except BlockingIOError:
      return True
    except OSError:
      bytes = b""
    if not bytes:
      return False
    self.incoming += bytes
    *lines, rest = self.incoming.split(b"\n")
    self.incoming = bytearray(rest)
    for line in lines:
      reply = json.loads(line)
      if reply.get("id") not in self.waiting:
        raise Violation(f"an answer without a request: {line[:500]!r}")
      source, item = self.waiting.pop(reply["id"])
      source.answered(item, reply, figures)
      figures["answers"] += 1
    return True

  def receive_all(self, figures):
    """Reads all answers that have arrived."""
    while select.select([self.socket], [], [], 0)[0] and self.receive(figures):
      pass

  def close(self):
    """Closes it: the outcome of unanswered events is unknown."""
    if self.socket is not None:
      self.socket.close()
      self.socket = None
    for source, item in self.waiting.values():
      source.broken(item)
    broken, self.waiting = len(self.waiting), {}
    return broken


class Load:
  """All clients."""

  def __init__(self, generator, figures, templates, padding, connections=4):
    self.generator, self.figures, self.templates = generator, figures, templates
    self.groups = 0
    self.journeys = 0
    self.padding = padding
    self.retired = []
    self.connections = [Connection(number, [], WINDOW) for number in range(connections)]
    self.product_connections = [Connection(connections + number, [], WINDOW) for number in range(2)]
    self.all = self.connections + self.product_connections
    self.replenish()

  def hitters(self):
    return [source for connection in self.connections for source in connection.sources]

  def journeys_under_way(self):
    return [source for connection in self.product_connections for source in connection.sources]

  def replenish(self):
    """Replaces subjects that have had all their events, after they were checked."""
    for connection in self.connections:
      if connection.sources and not all(hitter.is_done for hitter in connection.sources):
        continue
      self.retired += connection.sources
      connection.sources = []
      for index in range(HITTERS):
        if index % 4 == 0:
          self.groups += 1
        padding = self.padding if index % 4 == 0 else 0
        connection.sources.append(Hitter(f"hitter:{self.groups}-{index}", f"collector:{self.groups}", padding))
    for connection in self.product_connections:
      connection.sources = [journey for journey in connection.sources if not journey.is_done]
      while len(connection.sources) < JOURNEYS // 2:
        self.journeys += 1
        connection.sources.append(Journey(self.templates[self.journeys % len(self.templates)], str(self.journeys)))

  def run(self, path, seconds, until=lambda: False, on_time=None, is_patient=True, cuts_power=False):
    """Sends and reads for `seconds`, or until `until` returns true; then calls `on_time`, which may kill the daemon.

    Pending answers are still read: all of them if the daemon lives, and those that it had sent if it does not.
    Without `is_patient` the connections are closed 2 s later, whatever is unanswered. If `on_time` cuts the power (`cuts_power`), only
    what was answered before it counts: a host without power answers nobody, but the daemon runs on for a moment here, and ext4 reports
    syncs as successful during its shutdown whose data is lost.
    """
    figures = self.figures
    with selectors.DefaultSelector() as selector:
      opened = []
      for connection in self.all:
        try:
          connection.open(path)
        except OSError:
          connection.close()
          continue
        opened.append(connection)
        selector.register(connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, connection)
      begun = time.monotonic()
      deadline = begun + seconds
      is_over, patience = False, 60 if is_patient else 2
      while opened:
        now = time.monotonic()
        if not is_over and (now >= deadline or until()):
          is_over, over_at = True, now
          if cuts_power:
            for connection in opened:
              connection.receive_all(figures)
          if on_time is not None:
            on_time()
          if cuts_power:
            break
        if is_over and not any(connection.waiting for connection in opened):
          break
        if is_over and now > over_at + patience and not is_patient:
          break
        if is_over and now > over_at + patience:
          raise Violation(f"{sum(len(connection.waiting) for connection in opened)} events are not answered within {patience} s")
        for connection in opened:
          if not is_over:
            before = len(connection.waiting)
            connection.fill()
            figures["sent"] += len(connection.waiting) - before
          events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.outgoing else 0)
          if selector.get_key(connection.socket).events != events:
            selector.modify(connection.socket, events, connection)
        for key, events in selector.select(0.05):
          connection = key.data
          if events & selectors.EVENT_WRITE:
            connection.send()
          if events & selectors.EVENT_READ and not connection.receive(figures):
            selector.unregister(connection.socket)
            opened.remove(connection)
            figures["unknown"] += connection.close()
      for connection in opened:
        figures["unknown"] += connection.close()
