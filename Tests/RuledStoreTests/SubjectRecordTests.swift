import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// The record of a subject.
struct SubjectRecordTests {
  @Test(arguments: UInt64(1)...30)
  func `a record is read as it was written`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let version = UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0...63, using: &random)
    let until = RememberedUntil(
      earlier: .random(in: 0...(1 << 33), using: &random), single: .random(in: 0...(1 << 33), using: &random))
    let recent = (0..<Int.random(in: 0...255, using: &random)).map { _ in
      RecentEvent(hash: .random(in: 0 ... .max, using: &random), seconds: .random(in: 0 ... .max, using: &random))
    }
    let plugins = (0..<Int.random(in: 0...5, using: &random)).map {
      Pair(key: Array("p\($0)".utf8), value: [UInt8(ascii: "{")] + random.value())
    }
    let versions = plugins.map { _ in Bool.random(using: &random) ? 1 : Int.random(in: 1...(1 << 40), using: &random) }
    let buffer = ByteBuffer()
    SubjectRecord.writeHeader(version: version, until: until, recent: recent, into: buffer)
    for (plugin, version) in zip(plugins, versions) {
      plugin.value.withView { SubjectRecord.writePlugin(plugin.key, state: $0, version: version, into: buffer) }
    }

    let view = try SubjectRecordView(buffer.bytes)
    #expect(view.version == version && view.until == until)
    #expect((0..<view.recent.count).map { view.recent[$0] } == recent)
    for event in recent { #expect(view.recent.seconds(of: event.hash) == event.seconds) }
    var read: [Pair] = []
    view.forEachPlugin { read.append(Pair(key: Array($0), value: Array($1.json))) }
    #expect(read == plugins && view.hasPlugins == !plugins.isEmpty)
    for (plugin, version) in zip(plugins, versions) {
      let state = view.state(of: String(decoding: plugin.key, as: UTF8.self))
      #expect(state.map { Array($0.json) } == plugin.value && state?.version == version)
    }
    #expect(view.state(of: "p9") == nil)
  }

  @Test(arguments: UInt64(1)...300)
  func `damaged bytes give an error or a record, never a trap`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let buffer = ByteBuffer()
    let recent = [RecentEvent(hash: 1, seconds: 2), RecentEvent(hash: 3, seconds: 4)]
    SubjectRecord.writeHeader(version: 300, until: RememberedUntil(earlier: 5, single: 6), recent: recent, into: buffer)
    for name in ["one", "two"] {
      random.value(most: 200).withView { SubjectRecord.writePlugin(name, state: $0, into: buffer) }
    }
    var damaged = Array(buffer.bytes)
    for _ in 0...Int.random(in: 0...3, using: &random) {
      let index = Int.random(in: 0..<damaged.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: damaged[index] = UInt8.random(in: 0...255, using: &random)
      case 1: damaged.removeSubrange(index...)
      default: damaged.insert(255, at: index)
      }
      if damaged.isEmpty { break }
    }
    damaged.withView { bytes in
      guard let view = try? SubjectRecordView(bytes) else { return }
      var length = 0
      view.forEachPlugin { length += $0.count + $1.json.count }
      #expect(length <= bytes.count)
      #expect(view.recent.count <= 255)
    }
  }

  @Test(
    arguments: [
      [], [2, 0, 0, 0, 0], [3], [3, 0, 0, 0], [3, 0, 0, 0, 1], [3, 0, 0, 0, 0, 5, 65], [3, 0, 0, 0, 0, 1, 65],
      [3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0],
      [3, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
    ] as [[UInt8]])
  func `bytes that are no whole record are corrupt`(bytes: [UInt8]) {
    let error = #expect(throws: StoreError.self) {
      try bytes.withView { bytes in _ = try SubjectRecordView(bytes) }
    }
    #expect(error?.code == .corrupt)
  }
}
