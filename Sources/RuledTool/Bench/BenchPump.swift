internal import CLinux
internal import Glibc
internal import RuledCore
internal import RuledWire

/// Sends the events of a `rulectl bench` and counts the replies, on one thread.
///
/// At a rate, each request is due at a fixed time, and its latency is measured from then, even if its pipeline was full
/// and it was sent later. So a daemon that stops for a second is charged for every request of that second: there is no
/// coordinated omission.
struct BenchPump {
  /// How long to wait for the last replies, in nanoseconds.
  private static let replyTimeout: UInt64 = 10_000_000_000
  /// The shortest and the longest wait for a socket, in nanoseconds.
  private static let waits: ClosedRange<UInt64> = 100_000...10_000_000

  private let plan: BenchPlan
  private let connections: [BenchConnection]
  /// Makes the events' ids differ from those of other runs.
  private let runID: String
  private var polled: [pollfd]
  private var random = SystemRandomNumberGenerator()
  private var tally = BenchTally()
  /// How many requests became due, at a rate.
  private var due = 0
  private var startTime: UInt64 = 0
  private var endTime: UInt64 = 0

  init(_ plan: BenchPlan, path: String) throws(ToolError) {
    self.plan = plan
    var connections: [BenchConnection] = []
    for index in 0..<plan.connections {
      connections.append(try BenchConnection(path: path, index: index, pipeline: plan.pipeline))
    }
    self.connections = connections
    polled = connections.map { pollfd(fd: $0.descriptor, events: 0, revents: 0) }
    runID = String(UInt64.random(in: .min ... .max), radix: 36)
  }

  /// Sends the plan's requests, then waits for the remaining replies, at most ten seconds.
  ///
  /// `progress` gets the share of the time that is over, from 0 to 1, about ten times a second. Throws when the daemon closed a connection or sent a
  /// line that is no reply.
  mutating func run(_ progress: (Double, BenchTally) -> Void = { _, _ in }) throws(ToolError) -> BenchTally {
    startTime = MonotonicClock.nanoseconds
    endTime = startTime + UInt64(plan.seconds * 1e9)
    var lastProgress = startTime
    var now = startTime
    if plan.rate == nil {
      for connection in connections { try refill(connection, now) }
    }
    while now < endTime || isBehindSchedule || (hasInFlight && now < endTime + Self.replyTimeout) {
      if plan.rate != nil { try distributeDue(now) }
      try exchange()
      now = MonotonicClock.nanoseconds
      if now - lastProgress > 100_000_000 {
        lastProgress = now
        progress(min(1, Double(now - startTime) / Double(endTime - startTime)), tally)
      }
    }
    tally.missing = max(tally.sent, due) - tally.answered
    return tally
  }

  /// Whether requests became due that were not distributed, because this thread did not run until the end.
  private var isBehindSchedule: Bool { plan.rate != nil && dueTime(due) < endTime }

  private var hasInFlight: Bool { connections.contains { $0.inFlight > 0 || $0.sent < $0.due } }

  private mutating func exchange() throws(ToolError) {
    for (index, connection) in connections.enumerated() {
      polled[index].events = Int16(connection.isBlocked ? POLLIN | POLLOUT : POLLIN)
    }
    guard cl_poll(&polled, polled.count, wait(from: MonotonicClock.nanoseconds)) > 0 else { return }
    let arrived = MonotonicClock.nanoseconds
    for (connection, poll) in zip(connections, polled) where poll.revents != 0 {
      if poll.revents & Int16(POLLOUT) != 0 { try connection.flush() }
      guard poll.revents & ~Int16(POLLOUT) != 0 else { continue }
      try connection.receive(&tally, now: arrived, isInTime: arrived < endTime)
      try refill(connection, arrived)
    }
  }

  /// How long to wait for a socket: until the next request is due, within `waits`.
  private func wait(from now: UInt64) -> UInt64 {
    guard plan.rate != nil, now < endTime else { return Self.waits.upperBound }
    let next = dueTime(due)
    return min(max(next - min(now, next), Self.waits.lowerBound), Self.waits.upperBound)
  }

  private func dueTime(_ number: Int) -> UInt64 { startTime + UInt64(Double(number) * 1e9 / (plan.rate ?? 1)) }

  /// Distributes the requests that became due over the connections, in turn.
  private mutating func distributeDue(_ now: UInt64) throws(ToolError) {
    while dueTime(due) <= now, dueTime(due) < endTime {
      let connection = connections[due % connections.count]
      connection.due += 1
      due += 1
      try refill(connection, now)
    }
  }

  /// Sends the connection's next requests as far as its pipeline has room.
  private mutating func refill(_ connection: BenchConnection, _ now: UInt64) throws(ToolError) {
    while connection.hasFreeSlot {
      var time = now
      if plan.rate == nil {
        guard now < endTime else { break }
      } else {
        guard connection.sent < connection.due else { break }
        time = dueTime(connection.sent * connections.count + connection.index)
      }
      let subject = Int.random(in: 0..<plan.subjects, using: &random)
      let number = tally.sent
      tally.sent += 1
      connection.queue(startingAt: time) { buffer, id in write(buffer, id, subject, number) }
    }
    try connection.flush()
  }

  private func write(_ buffer: ByteBuffer, _ id: Int64, _ subject: Int, _ number: Int) {
    JSONRPCRequest.write("event", id: id, to: buffer) { writer in
      writer.beginObject()
      writer.member("type", plan.type)
      writer.member("source", plain: "rulectl/bench")
      writer.member("subject")
      writer.string { text in
        text.append("bench:" as StaticString)
        text.append(decimal: Int64(subject))
      }
      writer.member("id")
      writer.string { text in
        text.append(contentsOf: runID)
        text.append("-" as StaticString)
        text.append(decimal: Int64(number))
      }
      writer.member("data")
      writer.raw(plan.data)
      writer.endObject()
    }
    buffer.append(UInt8(ascii: "\n"))
  }
}
