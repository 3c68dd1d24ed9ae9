import RuledCore
import RuledEngine
import Synchronization
import Testing

@testable import RuledServer

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
      try RuledServer.HTTPClient(on: loop) { loop, descriptor, body throws(SystemError) in
        if failuresLeft.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 { throw Self.failure }
        return try DescriptorPoll(on: loop, descriptor, body)
      }
    }
    for number in 0..<5 { try rig.emit("\(number)", subject: "s:\(number)") }
    #expect(eventually { rig.figures().delivered == 5 && rig.undelivered.isEmpty })
    rig.stop()
    #expect(rig.figures().failed == 0)
    #expect(rig.figures().retried >= 2)
    #expect(rig.log.text.contains("uv_poll_init"))
    #expect(Set(receiver.requests.map { $0.headers["idempotency-key"] }) == ["0", "1", "2", "3", "4"])
  }

  @Test(arguments: [1, 3, 30]) func `delays have jitter, at their cap too`(_ failures: Int) {
    let backoff = Backoff(first: 1_000, longest: 100_000)
    let delays = (0..<200).map { _ in backoff.delay(after: failures) }
    #expect(Set(delays).count > 50)
    #expect(delays.allSatisfy { $0 > 0 && $0 <= 100_000 })
  }
}
