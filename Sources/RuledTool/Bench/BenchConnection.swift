internal import CLinux
internal import Glibc
internal import RuledCore

/// One connection of a `rulectl bench`, with its requests in flight.
final class BenchConnection {
  let index: Int
  let descriptor: Int32
  private(set) var inFlight = 0
  private(set) var sent = 0
  /// Requests that became due so far, at a rate.
  var due = 0
  private let output = ByteBuffer(capacity: 4096)
  private let input = LineBuffer()
  /// When the request in each slot was due or sent, in nanoseconds; 0 in a free slot.
  private var startTimes: [UInt64]
  private var freeSlots: [Int32]

  init(path: String, index: Int, pipeline: Int) throws(ToolError) {
    self.index = index
    descriptor = try Client.connect(to: path)
    startTimes = Array(repeating: 0, count: pipeline)
    freeSlots = (0..<Int32(pipeline)).reversed()
  }

  deinit { close(descriptor) }

  var hasFreeSlot: Bool { !freeSlots.isEmpty }

  /// Whether there are bytes that the socket did not accept yet.
  var isBlocked: Bool { output.count > 0 }

  /// Queues the request that `write` appends; its latency begins at `time`, in nanoseconds.
  func queue(startingAt time: UInt64, _ write: (ByteBuffer, _ id: Int64) -> Void) {
    guard let slot = freeSlots.popLast() else { return }
    startTimes[Int(slot)] = time
    inFlight += 1
    sent += 1
    write(output, Int64(slot))
  }

  func flush() throws(ToolError) {
    guard output.send(to: descriptor) else { throw Self.connectionClosed }
  }

  /// Receives and counts the replies that have arrived, at the time `now` in nanoseconds.
  ///
  /// `isInTime`: whether the throughput counts them.
  func receive(_ tally: inout BenchTally, now: UInt64, isInTime: Bool) throws(ToolError) {
    let count = input.read(from: descriptor)
    guard count > 0 else {
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      throw Self.connectionClosed
    }
    while let line = input.next() { try countReply(line, &tally, now: now, isInTime: isInTime) }
  }

  private func countReply(_ line: ByteView, _ tally: inout BenchTally, now: UInt64, isInTime: Bool) throws(ToolError) {
    let reply = BenchReply(line)
    guard let slot = reply.id, startTimes.indices.contains(Int(slot)), startTimes[Int(slot)] > 0 else {
      let text = String(decoding: line.prefix(200), as: UTF8.self).printable
      throw ToolError("the daemon sent something that is no reply to an event: \(text)")
    }
    tally.latency.observe(now - min(now, startTimes[Int(slot)]))
    startTimes[Int(slot)] = 0
    freeSlots.append(Int32(slot))
    inFlight -= 1
    tally.answered += 1
    if isInTime { tally.answeredInTime += 1 }
    if !reply.isClean { tally.countProblem(String(decoding: line, as: UTF8.self)) }
  }

  private static var connectionClosed: ToolError {
    ToolError(
      "the daemon closed a connection; 'rulectl health' shows whether it is well; limits.connections is the most it accepts"
    )
  }
}

/// The parts of a reply that `rulectl bench` needs, found by searching its text: parsing would limit the load.
private struct BenchReply {
  let id: Int64?
  /// Whether it is an outcome that no plugin failed on.
  let isClean: Bool

  init(_ line: ByteView) {
    id = Self.number(at: Self.offset(after: "\"id\":", in: line.extracting(first: 64)), in: line)
    isClean = Self.offset(after: "\"failures\":[]", in: line) != nil
  }

  private static func offset(after text: StaticString, in bytes: ByteView) -> Int? {
    guard let start = bytes.baseAddress,
      let found = cl_find(start, bytes.count, text.utf8Start, text.utf8CodeUnitCount)
    else { return nil }
    return found - start + text.utf8CodeUnitCount
  }

  private static func number(at start: Int?, in line: ByteView) -> Int64? {
    guard var at = start else { return nil }
    var value: Int64 = 0
    let first = at
    while at < line.count, (48...57).contains(line[at]), at - first < 10 {
      value = value * 10 + Int64(line[at] - 48)
      at += 1
    }
    return at > first ? value : nil
  }
}
