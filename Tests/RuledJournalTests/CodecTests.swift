import RuledCore
import RuledStore
import TestSupport
import Testing

@testable import RuledJournal

/// The layout of entries in blocks.
@Suite struct CodecTests {
  private static func text(_ random: inout SeededRandom, _ most: Int) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &random)).map { _ in UInt8.random(in: 1...255, using: &random) }
  }

  /// Calls `body` with a view of random parts.
  private static func withView(_ random: inout SeededRandom, _ sequence: UInt64, _ body: (EntryView) -> Void) {
    let origin = JournalEntry.Origin.allCases.filter { $0 != .kept }.randomElement(using: &random) ?? .client
    let at = Int64.random(in: -1_000...1 << 50, using: &random)
    let parts = (0..<9).map { _ in text(&random, 60) }
    let bytes = ByteBuffer()
    var ranges: [Range<Int>] = []
    for part in parts {
      let start = bytes.count
      part.withView { bytes.append($0) }
      ranges.append(start..<bytes.count)
    }
    func part(_ index: Int) -> ByteView { bytes.bytes.extracting(ranges[index]) }
    var view = EntryView(
      origin: origin, flags: Bool.random(using: &random) ? .lacksID : [], at: at,
      now: Bool.random(using: &random) ? at : at - Int64.random(in: 1...5_000, using: &random), text: part(0))
    view.sequence = sequence
    view.version = UInt64.random(in: 0...1 << 40, using: &random)
    view.subject = part(1)
    if view.flags.contains(.lacksID) { view.id = part(2) }
    view.revision = part(3)
    let results = ByteBuffer()
    for index in 4...6 { EntryHead.write(part(index), into: results) }
    view.results = results.bytes
    if Bool.random(using: &random) { view.plugins = part(8) }
    if origin == .timer || origin == .retry { (view.plugin, view.timer) = (part(7), part(8)) }
    view.consequences = Bool.random(using: &random) ? 0 : UInt32.random(in: 1 ... .max, using: &random)
    let digests = ByteBuffer()
    for name in ["p", "longer"] {
      ByteBuffers(name).with(0) { EntryHead.write($0, into: digests) }
      digests.append(bigEndian: UInt64.random(in: 0 ... .max, using: &random))
    }
    view.states = .digests(digests.bytes)
    if Bool.random(using: &random) { view.redacted = part(1) }
    body(view)
    withExtendedLifetime((bytes, results, digests)) {}
  }

  @Test func `entries of all kinds come out of a block as they went in`() throws {
    var random = SeededRandom(seed: 16)
    let plain = ByteBuffer()
    var codec = EntryCodec()
    var expected: [(entry: JournalEntry, plugins: [UInt8]?)] = []
    var sequence: UInt64 = 0
    for _ in 0..<500 {
      sequence += UInt64.random(in: 1...3, using: &random)
      Self.withView(&random, sequence) { view in
        codec.write(view, into: plain)
        expected.append((view.entry, view.plugins.map { Array($0) }))
      }
    }
    var reader = BlockReader(plain.bytes)
    var again = EntryCodec()
    for (entry, plugins) in expected {
      let view = again.read(&reader)
      #expect(view?.entry == entry && view?.plugins.map { Array($0) } == plugins)
    }
    #expect(reader.isAtEnd)
    // whatever is left of damaged bytes, reading them ends
    for end in stride(from: 0, to: plain.count, by: 371) {
      var reader = BlockReader(plain.bytes.extracting(..<end))
      var codec = EntryCodec()
      var count = 0
      while codec.read(&reader) != nil { count += 1 }
      #expect(count < expected.count)
    }
  }

  @Test func `common parts of entries are stored once, wherever their subject is`() throws {
    let plain = ByteBuffer()
    var codec = EntryCodec()
    let texts = (1...100).map { number in
      let (subject, id) = (#""subject":"user:\#(1000 + number % 7)""#, #""id":"\#(number)""#)
      let data = "\"data\":{\"text\":\"\(String(repeating: "0123456789", count: 20))\"}"
      return number % 30 == 0 ? "{\(data),\(id),\(subject)}" : "{\(subject),\(id),\(data)}"
    }
    for (number, text) in texts.enumerated() {
      let parts = ByteBuffers(text, "user:\(1000 + (number + 1) % 7)", "r\(number / 50)", number == 40 ? "nowhere" : "")
      var view = EntryView(origin: .client, flags: [], at: Int64(number), now: Int64(number), text: parts[0])
      view.sequence = UInt64(number + 1)
      view.subject = number == 40 ? parts[3] : parts[1]
      view.revision = parts[2]
      codec.write(view, into: plain)
      withExtendedLifetime(parts) {}
    }
    var reader = BlockReader(plain.bytes)
    var again = EntryCodec()
    for (number, text) in texts.enumerated() {
      let entry = try #require(again.read(&reader)?.entry)
      #expect(String(decoding: entry.event, as: UTF8.self) == text)
      #expect(entry.subject == (number == 40 ? "nowhere" : "user:\(1000 + (number + 1) % 7)"))
      #expect(entry.revision == "r\(number / 50)")
    }
    #expect(plain.count < texts.reduce(0) { $0 + $1.utf8.count } / 3)
  }

  @Test func `a filter knows its subjects, and is wrong about few others`() {
    var hashes = DistinctHashes()
    for number in 0..<12_000 { hashes.insert(SubjectFilter.hash(of: "user:\(number % 4_000)")) }
    #expect(hashes.count == 4_000)
    let filter = SubjectFilter(hashes)
    #expect((0..<4_000).allSatisfy { filter.mayContain(SubjectFilter.hash(of: "user:\($0)")) })
    let wrong = (0..<10_000).count { filter.mayContain(SubjectFilter.hash(of: "other:\($0)")) }
    #expect(wrong < 300)
  }

  @Test func `a block with a changed bit is a gap that names its file`() throws {
    let rig = try JournalRig()
    for _ in 0..<20 { try rig.send("user:1") }
    try rig.flush()
    rig.journal.completeCurrent()
    let path = JournalFiles.path(1, in: rig.journal.folder)
    var bytes = try Data.bytes(of: path)
    bytes[120] ^= 4
    let file = try SystemFiles().open(path, .update)
    try bytes.withView { try file.write($0, at: 0) }
    let tools = try rig.tools
    #expect(try rig.entries(of: tools).isEmpty)
    #expect(tools.gaps.map(\.first) == [1] && tools.gaps.map(\.last) == [20])
    #expect(tools.gaps.first?.reason.contains(path) == true)
  }
}
