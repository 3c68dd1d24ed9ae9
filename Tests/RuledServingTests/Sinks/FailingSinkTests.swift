import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

/// For how long a sink has failed, over restarts.
@Suite(.serialized) struct FailingSinkTests {
  private let store = MemoryStore()
  private let value = StoredValue(name: "failing_sinks")

  /// What the store has of the sinks that fail.
  private var stored: JSONValue? {
    guard let text = try? value.read(from: store) else { return nil }
    return try? JSONValue(parsing: text.bytes)
  }

  @Test func `the store has since when a sink fails, from the first failure to the next success`() throws {
    let works = Atomic(false)
    let receiver = try Receiver { _, _ in .init(status: works.load(ordering: .relaxed) ? 200 : 500) }
    defer { receiver.close() }
    let rig = try DeliveryRig(store: store, sinks: ["out": .posting(receiver.url())])
    try rig.emit("a", subject: "s")
    #expect(eventually { stored?["out"] != nil })
    works.store(true, ordering: .relaxed)
    #expect(eventually { stored == [:] })
    rig.stop()
    #expect(rig.figures().present.delivered == 1)
  }

  @Test func `a restart continues to count`() throws {
    let since = EngineClock.wall.microseconds - 3_600_000_000
    let text: JSONValue = ["out": .integer(since), "gone": .integer(since)]
    try value.write(to: store) { text.write(to: $0) }
    let receiver = try Receiver()
    defer { receiver.close() }
    let rig = try DeliveryRig(store: store, sinks: ["out": .posting(receiver.url())])
    #expect(eventually { rig.figures().failingSeconds(now: EngineClock.monotonic) ?? 0 >= 3_600 })
    try rig.emit("a", subject: "s")
    #expect(eventually { rig.figures().present.delivered == 1 })
    rig.stop()
    #expect(!rig.figures().isFailing && stored == [:])
  }
}
