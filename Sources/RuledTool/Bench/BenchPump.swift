internal import Glibc
internal import RuledCore

/// Sends the events of a `rulectl bench` and counts the replies, with one thread and `pselect`.
///
/// At a rate, each request has a time at which it is due, and its latency counts from then, however late the pipelines
/// had room for it: a daemon that stands still for a second is charged for all that would have been sent meanwhile.
package struct BenchPump {
  private static let drain: UInt64 = 10_000_000_000
  private static let leastWait: UInt64 = 100_000

  private let plan: BenchPlan
  private let connections: [BenchConnection]
  private let run: String
  private var reading = DescriptorSet()
  private var end: Int32 = 0
  private var random = SystemRandomNumberGenerator()
  private var tally = BenchTally()
  private var due = 0
  private var started: UInt64 = 0
  private var ends: UInt64 = 0

  /// Connects to the daemon on `path`.
  package init(_ plan: BenchPlan, path: String) throws(ToolError) {
    self.plan = plan
    var connections: [BenchConnection] = []
    for index in 0..<plan.connections {
      connections.append(try BenchConnection(path: path, index: index, pipeline: plan.pipeline))
    }
    self.connections = connections
    for connection in connections {
      guard connection.descriptor < DescriptorSet.limit else {
        throw ToolError("too many connections for this program; give fewer with --connections")
      }
      reading.insert(connection.descriptor)
      end = max(end, connection.descriptor + 1)
    }
    run = String(UInt64.random(in: .min ... .max), radix: 36)
  }

  /// Sends what the plan says and waits for the replies, ten seconds at most for the last.
  ///
  /// - Parameter progress: Told about ten times a second how much of the time is over, from 0 to 1.
  /// - Returns: What came of it.
  /// - Throws: When the daemon has gone or says what is no reply.
  package mutating func run(_ progress: (Double, BenchTally) -> Void = { _, _ in }) throws(ToolError) -> BenchTally {
    started = Self.now()
    ends = started + UInt64(plan.seconds * 1e9)
    var told = started
    var now = started
    if plan.rate == nil {
      for connection in connections { try refill(connection, now) }
    }
    while now < ends || (hasInFlight && now < ends + Self.drain) {
      if plan.rate != nil { try releaseDue(now) }
      try exchange(now)
      now = Self.now()
      if now - told > 100_000_000 {
        told = now
        progress(min(1, Double(now - started) / Double(ends - started)), tally)
      }
    }
    tally.seconds = plan.seconds
    tally.sent = connections.reduce(0) { $0 + $1.sent }
    tally.missing = max(tally.sent, due) - tally.answered
    return tally
  }

  private var hasInFlight: Bool { connections.contains { $0.inFlight > 0 || $0.sent < $0.due } }

  private mutating func exchange(_ now: UInt64) throws(ToolError) {
    var readable = reading
    var writable = DescriptorSet()
    for connection in connections where connection.isBlocked { writable.insert(connection.descriptor) }
    let wait = patience(Self.now())
    guard DescriptorSet.wait(reading: &readable, writing: &writable, below: end, nanoseconds: wait) else { return }
    let arrived = Self.now()
    for connection in connections {
      if writable.contains(connection.descriptor) { try connection.flush() }
      guard readable.contains(connection.descriptor) else { continue }
      try connection.receive(&tally, now: arrived, isInTime: arrived < ends)
      try refill(connection, arrived)
    }
  }

  private func patience(_ now: UInt64) -> UInt64 {
    let next = plan.rate == nil || now >= ends ? now + 10_000_000 : min(dueTime(due), now + 10_000_000)
    return max(Self.leastWait, next - min(now, next))
  }

  private func dueTime(_ number: Int) -> UInt64 { started + UInt64(Double(number) * 1e9 / (plan.rate ?? 1)) }

  /// Gives each connection the requests that have become due, in turn.
  private mutating func releaseDue(_ now: UInt64) throws(ToolError) {
    while dueTime(due) <= now, dueTime(due) < ends {
      let connection = connections[due % connections.count]
      connection.due += 1
      due += 1
      try refill(connection, now)
    }
  }

  private mutating func refill(_ connection: BenchConnection, _ now: UInt64) throws(ToolError) {
    while connection.hasRoom {
      var begun = now
      if plan.rate == nil {
        guard now < ends else { break }
      } else {
        guard connection.sent < connection.due else { break }
        begun = dueTime(connection.sent * connections.count + connection.index)
      }
      let subject = Int.random(in: 0..<plan.subjects, using: &random)
      let number = tally.sent
      tally.sent += 1
      connection.queue(from: begun) { buffer, id in write(buffer, id, subject, number) }
    }
    try connection.flush()
  }

  private func write(_ buffer: ByteBuffer, _ id: Int64, _ subject: Int, _ number: Int) {
    buffer.append("{\"jsonrpc\":\"2.0\",\"id\":" as StaticString)
    buffer.append(decimal: id)
    buffer.append(",\"method\":\"event\",\"params\":{\"type\":" as StaticString)
    buffer.append(jsonString: plan.type)
    buffer.append(",\"source\":\"rulectl/bench\",\"subject\":\"bench:" as StaticString)
    buffer.append(decimal: Int64(subject))
    buffer.append("\",\"id\":\"" as StaticString)
    buffer.append(contentsOf: run)
    buffer.append("-" as StaticString)
    buffer.append(decimal: Int64(number))
    buffer.append("\",\"data\":" as StaticString)
    buffer.append(contentsOf: plan.data)
    buffer.append("}}\n" as StaticString)
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
