import RuledEngine
import RuledJSON
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledCore
@testable import RuledServing

/// An effect that can't be read stays, is reported, and holds up its own subject only.
@Suite(.serialized) struct UnreadableEffectTests {
  private let folder = TemporaryFolder()

  /// Whether the key is that of an effect of the subject `bad` whose number is `first` or below.
  private static func isBad(_ key: ByteView, upTo first: UInt64) -> Bool {
    guard let effect = EffectKey(key) else { return false }
    return effect.subject == Array("bad".utf8) && effect.sequence <= first
  }

  @Test(arguments: ["file", "log", "url"])
  func `an effect that can't be read stays and holds up only the later ones of its subject`(kind: String) throws {
    let store = FaultyStore(MemoryStore())
    let receiver = try Receiver()
    let sink: Configuration.Sink =
      kind == "file" ? .file(folder("out")) : kind == "log" ? .logging : .posting(receiver.url("/"))
    let rig = try DeliveryRig(store: store, sinks: ["out": sink], delivers: false)
    let bad = EffectKey(subject: Array("bad".utf8), sequence: rig.services.context.nextSequence())
    try DeliveryRig.put(bad, "bad-1", into: store)
    try rig.emit("bad-2", subject: "bad")
    for number in 0..<20 { try rig.emit("good-\(number)", subject: "good:\(number)") }
    store.failReads { Self.isBad($0, upTo: bad.sequence) }
    rig.deliver()
    #expect(eventually { rig.figures().present.delivered == 20 && rig.undelivered.count == 2 })
    #expect(eventually { rig.figures().present.unreadable == 1 })
    let health = HealthReport(rig.services).json
    #expect(health["status"] == "degraded")
    #expect(health["problems"]?.text.contains("000007.sst") == true, "\(health.text)")
    #expect(health["unreadable"]?[0]?["what"] == "an effect")
    #expect(rig.log.lines.count { $0.message.contains("can't be read") } == 1)
    // There are few tries: between two are 20 ms at first and 200 ms at most.
    let tries = store.failedReads
    #expect(eventually { store.failedReads > tries })
    store.failReads(of: nil)
    #expect(eventually { rig.figures().present.delivered == 22 && rig.undelivered.isEmpty })
    #expect(eventually { rig.figures().present.unreadable == 0 })
    #expect(HealthReport(rig.services).json["status"] == "ready")
    rig.stop()
    #expect(rig.log.lines.contains { $0.message.contains("can be read again") })
    if kind == "url" {
      let order = receiver.requests.map(\.body).filter { $0.contains("bad-") }
      #expect(order.count == 2 && order[0].contains("bad-1"))
    }
  }

  @Test func `an effect with malformed text stays, and so do the later ones of its subject`() throws {
    let store = MemoryStore()
    let rig = try DeliveryRig(store: store, sinks: ["out": .logging], delivers: false)
    let bad = EffectKey(subject: Array("bad".utf8), sequence: rig.services.context.nextSequence())
    let set = WriteSet()
    StoreKey.bytes { bad.write(to: $0) }.withView { key in
      Array("{torn".utf8).withView { set.put(key, $0) }
    }
    try store.commit(set, durable: true)
    try rig.emit("bad-2", subject: "bad")
    try rig.emit("good", subject: "good")
    rig.deliver()
    #expect(eventually { rig.figures().present.delivered == 1 && rig.undelivered.count == 2 })
    try rig.emit("bad-3", subject: "bad")
    try rig.emit("good-2", subject: "good")
    #expect(eventually { rig.figures().present.delivered == 2 && rig.undelivered.count == 3 })
    #expect(HealthReport(rig.services).json["status"] == "degraded")
    try DeliveryRig.put(bad, "bad-1", into: store)
    #expect(eventually { rig.figures().present.delivered == 5 && rig.undelivered.isEmpty })
    rig.stop()
    let ids = rig.log.lines.compactMap { (try? JSONValue(parsing: $0.fields))?["effect_id"]?.stringValue }
    #expect(ids.filter { $0.hasPrefix("bad") } == ["bad-1", "bad-2", "bad-3"])
  }

  @Test func `effects that are emitted after a clock was set back are delivered after the older ones`() throws {
    let store = MemoryStore()
    let script = EngineClock.Script(wall: EngineClock.wall.microseconds, elapsed: 0)
    var rig = try DeliveryRig(store: store, sinks: [:], clock: EngineClock(script: script), delivers: false)
    try StoredTime.resume(rig.services.context)
    try rig.emit("1", subject: "s")
    rig.stop()
    script.wall.subtract(48 * Limits.hour, ordering: .relaxed)
    rig = try DeliveryRig(store: store, sinks: ["out": .logging], clock: EngineClock(script: script), delivers: false)
    try StoredTime.resume(rig.services.context)
    rig.deliver()
    for number in 2...5 { try rig.emit("\(number)", subject: "s") }
    #expect(eventually { rig.figures().present.delivered == 5 && rig.undelivered.isEmpty })
    rig.stop()
    let ids = rig.log.lines.compactMap { (try? JSONValue(parsing: $0.fields))?["effect_id"]?.stringValue }
    #expect(ids == ["1", "2", "3", "4", "5"])
  }
}
