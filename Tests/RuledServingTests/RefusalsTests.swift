import RuledCore
import Synchronization
import Testing

@testable import RuledServing

@Suite struct RefusalsTests {
  @Test func `each kind of refusal is counted, logged once a minute, and a problem for a minute`() {
    let log = RecordingLog()
    let refusals = Refusals(log: log)
    let second: UInt64 = 1_000_000_000
    #expect(refusals.problems(now: 0).isEmpty)
    for time in 0..<70 { refusals.note(.connections, now: UInt64(time) * second) { "full at \(time)" } }
    refusals.note(.watches, now: 70 * second) { "too many watches" }
    #expect(refusals.count(.connections) == 70 && refusals.count(.sites) == 0)
    #expect(log.lines.map(\.message) == ["full at 0", "full at 60 (61 since the start)", "too many watches"])
    #expect(refusals.problems(now: 71 * second) == ["full at 60", "too many watches"])
    #expect(refusals.problems(now: 129 * second) == ["too many watches"])
    #expect(refusals.problems(now: 130 * second).isEmpty)
  }

  @Test func `requests of administrators and probes have room when others have none`() throws {
    let rig = try ServerRig { $0.limits.inFlight = 20 }
    defer { rig.stop() }
    let services = rig.services
    services.inFlight.store(10, ordering: .relaxed)
    #expect(services.overload(isReserved: false, adding: 0) == nil)
    services.inFlight.store(11, ordering: .relaxed)
    #expect(services.overload(isReserved: false, adding: 0)?.code == .overloaded)
    #expect(services.overload(isReserved: true, adding: 0) == nil)
    services.inFlight.store(21, ordering: .relaxed)
    #expect(services.overload(isReserved: true, adding: 0)?.code == .overloaded)
    services.inFlight.store(0, ordering: .relaxed)
    #expect(services.refusals.count(.inFlight) == 2)
  }
}
