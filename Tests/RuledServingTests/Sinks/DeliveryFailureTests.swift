import RuledCore
import RuledDelivery
import RuledEngine
import RuledIO
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

/// Failures of the daemon's own HTTP client.
@Suite(.serialized) struct DeliveryFailureTests {
  private static let failure = SystemError(12, call: "uv_poll_init", context: "a test")

  @Test func `a client that can't be made ends the start with its error`() throws {
    let rig = try DeliveryRig(sinks: [:], delivers: false)
    defer { rig.stop() }
    #expect(throws: SystemError.self) {
      _ = try OutboxService(services: rig.services) { _ throws(SystemError) in throw Self.failure }
    }
  }

  @Test func `a socket that can't be watched fails the requests under way, which are sent again`() throws {
    let receiver = try Receiver()
    defer { receiver.close() }
    let failuresLeft = Atomic(2)
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())]) { loop throws(SystemError) in
      try RuledDelivery.HTTPClient(on: loop) { loop, descriptor, body throws(SystemError) in
        if failuresLeft.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 { throw Self.failure }
        return try DescriptorPoll(on: loop, descriptor, body)
      }
    }
    for number in 0..<5 { try rig.emit("\(number)", subject: "s:\(number)") }
    #expect(eventually { rig.figures().present.delivered == 5 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(rig.figures().present.failed == 0)
    #expect(rig.figures().present.retried >= 2)
    #expect(rig.log.text.contains("uv_poll_init"))
    #expect(Set(receiver.requests.map { $0.headers["idempotency-key"] }) == ["0", "1", "2", "3", "4"])
  }

  @Test(arguments: [1, 3, 30]) func `delays have jitter, at their cap too`(_ failures: Int) {
    let backoff = Backoff(first: 1_000, longest: 100_000)
    let delays = (0..<200).map { _ in backoff.delay(after: failures) }
    #expect(Set(delays).count > 50)
    #expect(delays.allSatisfy { $0 > 0 && $0 <= 100_000 })
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", UInt32(0), "96 bytes remaining"),
    ("HTTP/1.1 200 OK\r\nContent-Le", 0, "within its head"),
    ("", 0, "Empty reply"),
    ("not HTTP at all", 0, "HTTP/0.9"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nslow", 60_000, "timed out"),
    ("HTTP/1.1 200 OK\r\n", 60_000, "timed out"),
  ])
  func `half an answer, or a slow one, is none: the effect is tried again`(
    _ raw: String, _ hangs: UInt32, _ reason: String
  ) throws {
    let receiver = try Receiver { index, _ in index == 0 ? .init(raw: raw, hangs: hangs) : .init() }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())], timeout: hangs == 0 ? 180_000 : 500)
    defer { rig.stop() }
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    let (retried, requests) = (rig.figures().present.retried, receiver.requests.count)
    // On a busy host a good answer may be late, too, where the limit is short.
    #expect(hangs > 0 ? retried >= 1 && requests >= 2 : retried == 1 && requests == 2)
    #expect(rig.log.text.contains(reason), "\(rig.log.text)")
  }

  @Test(arguments: [1, 2 << 10])
  func `a head that is too large is told as that`(lines: Int) throws {
    let field = "X: " + String(repeating: "x", count: (2 << 20) / lines) + "\r\n"
    let head = "HTTP/1.1 200 OK\r\n" + String(repeating: field, count: lines)
    let receiver = try Receiver { index, _ in index == 0 ? .init(raw: head) : .init() }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    #expect(rig.log.text.contains("head is too large"), "\(rig.log.text)")
  }

  @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
  func `a receiver that resets the connection is told as that`(_ raw: String) throws {
    let receiver = try Receiver { index, _ in index == 0 ? .init(raw: raw, resets: true) : .init() }
    defer { receiver.close() }
    let rig = try DeliveryRig(sinks: ["out": .posting(receiver.url())])
    defer { rig.stop() }
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.isEmpty })
    #expect(rig.log.text.contains("reset"), "\(rig.log.text)")
    #expect(!rig.log.text.contains("select/poll"), "\(rig.log.text)")
  }
}
