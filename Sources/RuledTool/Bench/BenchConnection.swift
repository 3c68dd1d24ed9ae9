internal import Glibc
internal import RuledCore

/// One connection of a `rulectl bench`: what waits to be sent, what came, and since when each request is on its way.
final class BenchConnection {
  /// Its place among the connections.
  let index: Int
  /// Its socket.
  let descriptor: Int32
  /// Requests on their way.
  private(set) var inFlight = 0
  /// Requests sent so far.
  private(set) var sent = 0
  /// Requests that have become due so far, when they are offered at a rate.
  var due = 0
  private let output = ByteBuffer(capacity: 4096)
  private let input = ByteBuffer(capacity: 65_536)
  private var begun: [UInt64]
  private var free: [Int32]

  /// Connects to `path`, for `pipeline` requests in flight at most.
  init(path: String, index: Int, pipeline: Int) throws(ToolError) {
    self.index = index
    descriptor = try Client.open(path)
    begun = Array(repeating: 0, count: pipeline)
    free = (0..<Int32(pipeline)).reversed()
  }

  deinit { close(descriptor) }

  /// Whether one more request may be sent.
  var hasRoom: Bool { !free.isEmpty }

  /// Whether bytes wait until the socket takes them.
  var isBlocked: Bool { output.count > 0 }

  /// Queues a request that counts from `time` on.
  func queue(from time: UInt64, _ write: (ByteBuffer, _ id: Int64) -> Void) {
    guard let slot = free.popLast() else { return }
    begun[Int(slot)] = time
    inFlight += 1
    sent += 1
    write(output, Int64(slot))
  }

  /// Hands the socket what it takes.
  func flush() throws(ToolError) {
    while output.count > 0 {
      let count = send(descriptor, output.base, output.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if count > 0 {
        output.removeFirst(count)
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        throw Self.lost
      }
    }
  }

  /// Takes the replies that came.
  ///
  /// - Parameters:
  ///   - tally: Where they are counted.
  ///   - now: The time of their arrival.
  ///   - isInTime: Whether they count into the throughput.
  /// - Throws: When the daemon has gone or says what is no reply.
  func receive(_ tally: inout BenchTally, now: UInt64, isInTime: Bool) throws(ToolError) {
    input.reserve(65_536)
    let count = recv(descriptor, input.base + input.count, 65_536, Int32(MSG_DONTWAIT))
    guard count > 0 else {
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      throw Self.lost
    }
    var searched = input.count
    input.advance(count)
    var start = 0
    while let found = memchr(input.base + searched, 10, input.count - searched) {
      let end = UnsafeRawPointer(found) - UnsafeRawPointer(input.base)
      try take(UnsafeRawBufferPointer(rebasing: input.bytes[start..<end]), &tally, now: now, isInTime: isInTime)
      start = end + 1
      searched = start
    }
    input.removeFirst(start)
  }

  private func take(
    _ line: UnsafeRawBufferPointer, _ tally: inout BenchTally, now: UInt64, isInTime: Bool
  ) throws(ToolError) {
    let reply = BenchReply(line)
    guard let slot = reply.id, begun.indices.contains(Int(slot)), begun[Int(slot)] > 0 else {
      let text = String(decoding: line.prefix(200), as: UTF8.self).printable
      throw ToolError("the daemon sent something that is no reply to an event: \(text)")
    }
    tally.latency.record(now - min(now, begun[Int(slot)]))
    begun[Int(slot)] = 0
    free.append(Int32(slot))
    inFlight -= 1
    tally.answered += 1
    if isInTime { tally.answeredInTime += 1 }
    if !reply.isPlain { tally.countTrouble(String(decoding: line, as: UTF8.self)) }
  }

  private static var lost: ToolError {
    ToolError(
      "the daemon closed a connection; 'rulectl health' says whether it is well, limits.connections how many it takes")
  }
}
