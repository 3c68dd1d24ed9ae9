import Glibc
import RuledCore
import Testing

@testable import RuledStore

/// The table of keys in `docs/architecture.md` against the keys that `StoreKey` writes.
struct StoreKeyTableTests {
  /// The absolute path of the checkout.
  private static let root = String(#filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 })

  /// The values that this test puts in place of a layout's words.
  private static let samples: [Substring: [UInt8]] = [
    "`0`": [0], "`1`": [1],
    "subject": Array("device:a".utf8), "source": Array("app".utf8), "id": Array("7".utf8), "digest": [9, 8, 7],
    "plugin": Array("streaks".utf8), "key": Array("greeted".utf8), "name": Array("reminder".utf8),
    "labels": Array("{\"a\":1}".utf8),
    "expiry": [0x12, 0x34, 0x56, 0x78],
    "board": Array("week".utf8), "generation": [1, 2, 3, 4, 5, 6, 7, 8],
    "hash": [1, 2, 3, 4, 5, 6, 7, 8], "sequence": [1, 2, 3, 4, 5, 6, 7, 8],
    "time": [0x80, 0, 0, 0, 0, 0, 0, 5],
  ]

  /// The keys that `StoreKey` writes for those samples.
  private static func keys(of kind: StoreKey.Kind) -> [[UInt8]] {
    func sample(_ word: Substring) -> [UInt8] { samples[word] ?? [] }
    let (subject, plugin, name) = (sample("subject"), sample("plugin"), sample("name"))
    let number: UInt64 = 0x0102_0304_0506_0708
    func key(_ write: (ByteBuffer) -> Void) -> [[UInt8]] { [StoreKey.bytes(write)] }
    return switch kind {
    case .record: key { StoreKey.record(subject, into: $0) }
    case .outcome:
      key {
        StoreKey.outcome(
          expiring: 0x1234_5678, subject, source: sample("source"), id: sample("id"), into: $0)
      } + key { StoreKey.outcome(expiring: 0x1234_5678, subject, digest: sample("digest"), into: $0) }
    case .earlierEvents: key { StoreKey.earlierEvents(subject, into: $0) }
    case .once: key { StoreKey.named(.once, subject, plugin: plugin, name: sample("key"), into: $0) }
    case .timer, .membership: key { StoreKey.named(kind, subject, plugin: plugin, name: name, into: $0) }
    case .timerIndex: key { StoreKey.timerIndex(due: 5, subject, plugin: plugin, name: name, into: $0) }
    case .outcomeIndex, .message, .effect, .parked: key { StoreKey.numbered(kind, subject, number, into: $0) }
    case .place:
      key { StoreKey.place(subject, plugin: plugin, board: sample("board"), generation: number, into: $0) }
    case .board: key { StoreKey.board(sample("board"), of: plugin, into: $0) }
    case .counter: key { StoreKey.counter(name, labels: sample("labels"), into: $0) }
    case .member: key { StoreKey.member(plugin: plugin, name: name, subject, into: $0) }
    case .memberCount: key { StoreKey.memberCount(plugin: plugin, name: name, worker: number, into: $0) }
    case .publication, .publicationCursor: key { StoreKey.numbered(kind, number, into: $0) }
    case .daemon: key { StoreKey.daemon(name, into: $0) }
    }
  }

  /// The first cells of the rows of the page's table that begins with `| key |`.
  private static func layouts() throws -> [Substring] {
    let file = try #require(fopen("\(root)/docs/architecture.md", "r"))
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&room, 1, room.count, file), count > 0 { bytes += room[..<count] }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let rows = lines.drop { !$0.hasPrefix("| key |") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
    return rows.compactMap { row in
      row.split(separator: "|").first.map { cell in
        cell.drop { $0 == " " }
      }
    }
  }

  /// The key that a layout describes.
  private static func key(of layout: Substring) throws -> [UInt8] {
    let words = layout.split(separator: " ")
    let letter = try #require(words.first?.dropFirst().dropLast().utf8.first)
    return try words.dropFirst().reduce([letter]) { try $0 + #require(samples[$1], "\($1) in \(layout)") }
  }

  @Test func `the table of keys has the layout of each key`() throws {
    let described = try Self.layouts().map { try Self.key(of: $0) }
    let written = StoreKey.Kind.allCases.flatMap { Self.keys(of: $0) }
    for key in written { #expect(described.contains(key), "the table lacks \(String(decoding: key, as: UTF8.self))") }
    for key in described { #expect(written.contains(key), "\(String(decoding: key, as: UTF8.self)) in the table") }
    #expect(described.count == written.count)
  }
}
