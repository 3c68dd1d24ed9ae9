import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// The names under which everything is stored.
struct StoreKeyTests {
  @Test func `the keys of timers are in the order of their due times`() {
    let times: [Int64] = [.min, -2_000_000, -1, 0, 1, 255, 256, 1_763_000_000_000_000, .max]
    let keys = times.map { due in
      StoreKey.bytes { StoreKey.timerIndex(due: due, "s", plugin: "p", name: "n", into: $0) }
    }
    for (earlier, later) in zip(keys, keys.dropFirst()) { #expect(earlier.lexicographicallyPrecedes(later)) }
  }

  @Test func `records are in the byte order of their subjects`() {
    let subjects = ["a", "a!", "aa", "device:1", "device:10", "device:2", "über"]
    let keys = subjects.map { subject in StoreKey.bytes { StoreKey.record(subject, into: $0) } }
    for (earlier, later) in zip(keys, keys.dropFirst()) { #expect(earlier.lexicographicallyPrecedes(later)) }
  }

  @Test func `a subject's prefix covers its keys and those of no other subject`() throws {
    let prefix = StoreKey.prefix(.message, of: "ab")
    let bound = try #require(StoreKey.upperBound(prefix))
    let keys = ["a", "ab", "ab!", "abc", "b"].flatMap { subject in
      [0, 1, UInt64.max].map { number in StoreKey.bytes { StoreKey.numbered(.message, subject, number, into: $0) } }
    }
    let inside = keys.filter { !$0.lexicographicallyPrecedes(prefix) && $0.lexicographicallyPrecedes(bound) }
    #expect(inside == Array(keys[3..<6]))
  }

  @Test(arguments: [([1, 2], [1, 3]), ([1, 255], [2]), ([255, 255], nil), ([], nil)] as [([UInt8], [UInt8]?)])
  func `the upper bound is the least key above the prefix`(prefix: [UInt8], bound: [UInt8]?) {
    #expect(StoreKey.upperBound(prefix) == bound)
  }

  private static let keys: [(parts: String, write: @Sendable (ByteBuffer) -> Void)] = [
    ("record s", { StoreKey.record("s", into: $0) }),
    ("outcome 258 s src id", { StoreKey.outcome(expiring: 258, "s", source: "src", id: "id", into: $0) }),
    ("outcome 0 s  id", { StoreKey.outcome(expiring: 0, "s", source: "", id: "id", into: $0) }),
    ("outcome 4294967295 s #[0, 9]", { StoreKey.outcome(expiring: .max, "s", digest: [0, 9], into: $0) }),
    ("earlier s", { StoreKey.earlierEvents("s", into: $0) }),
    ("index s 7", { StoreKey.numbered(.outcomeIndex, "s", 7, into: $0) }),
    ("once s p k\u{0}k", { StoreKey.named(.once, "s", plugin: "p", name: "k\u{0}k", into: $0) }),
    ("timer s p n", { StoreKey.named(.timer, "s", plugin: "p", name: "n", into: $0) }),
    ("due -7 s p n", { StoreKey.timerIndex(due: -7, "s", plugin: "p", name: "n", into: $0) }),
    ("message s 0", { StoreKey.numbered(.message, "s", 0, into: $0) }),
    ("effect s 258", { StoreKey.numbered(.effect, "s", 258, into: $0) }),
    ("parked s 18446744073709551615", { StoreKey.numbered(.parked, "s", .max, into: $0) }),
    ("place s p b 259", { StoreKey.place("s", plugin: "p", board: "b", generation: 259, into: $0) }),
    ("board p b", { StoreKey.board("b", of: "p", into: $0) }),
    ("counter c {}", { StoreKey.counter("c", labels: "{}", into: $0) }),
    ("membership s p n", { StoreKey.named(.membership, "s", plugin: "p", name: "n", into: $0) }),
    ("member p n s", { StoreKey.member(plugin: "p", name: "n", "s", into: $0) }),
    ("members p n 7", { StoreKey.memberCount(plugin: "p", name: "n", worker: 7, into: $0) }),
    ("publication 7", { StoreKey.numbered(.publication, 7, into: $0) }),
    ("cursor 7", { StoreKey.numbered(.publicationCursor, 7, into: $0) }),
    ("daemon clock", { StoreKey.daemon("clock", into: $0) }),
  ]

  @Test(arguments: keys)
  func `a key gives its parts back`(parts: String, write: @Sendable (ByteBuffer) -> Void) throws {
    let key = StoreKey.bytes(write)
    #expect(try key.withView { bytes in try describe(ParsedKey(bytes)) } == parts)
  }

  @Test(arguments: UInt64(1)...200)
  func `bytes that are no key give an error, never a trap`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var bytes = random.value(most: 24)
    if !bytes.isEmpty { bytes[0] = StoreKey.Kind.allCases.randomElement(using: &random)?.rawValue ?? 0 }
    bytes.withView { bytes in
      if let parsed = try? ParsedKey(bytes) { #expect(!describe(parsed).isEmpty) }
    }
  }

  private func describe(_ key: ParsedKey) -> String {
    func text(_ bytes: ByteView) -> String { String(decoding: bytes, as: UTF8.self) }
    return switch key {
    case .record(let subject): "record \(text(subject))"
    case .outcome(let expiring, let subject, .plain(let source, let id)):
      "outcome \(expiring) \(text(subject)) \(text(source)) \(text(id))"
    case .outcome(let expiring, let subject, .digest(let digest)):
      "outcome \(expiring) \(text(subject)) #\(Array(digest))"
    case .earlierEvents(let subject): "earlier \(text(subject))"
    case .outcomeIndex(let subject, let hash): "index \(text(subject)) \(hash)"
    case .once(let subject, let plugin, let key): "once \(text(subject)) \(text(plugin)) \(text(key))"
    case .timer(let subject, let plugin, let name): "timer \(text(subject)) \(text(plugin)) \(text(name))"
    case .timerIndex(let due, let subject, let plugin, let name):
      "due \(due) \(text(subject)) \(text(plugin)) \(text(name))"
    case .message(let subject, let sequence): "message \(text(subject)) \(sequence)"
    case .effect(let subject, let sequence): "effect \(text(subject)) \(sequence)"
    case .parked(let subject, let sequence): "parked \(text(subject)) \(sequence)"
    case .place(let subject, let plugin, let board, let generation):
      "place \(text(subject)) \(text(plugin)) \(text(board)) \(generation)"
    case .board(let plugin, let board): "board \(text(plugin)) \(text(board))"
    case .counter(let name, let labels): "counter \(text(name)) \(text(labels))"
    case .membership(let subject, let plugin, let name): "membership \(text(subject)) \(text(plugin)) \(text(name))"
    case .member(let plugin, let name, let subject): "member \(text(plugin)) \(text(name)) \(text(subject))"
    case .memberCount(let plugin, let name, let worker): "members \(text(plugin)) \(text(name)) \(worker)"
    case .publication(let number): "publication \(number)"
    case .publicationCursor(let number): "cursor \(number)"
    case .daemon(let name): "daemon \(text(name))"
    }
  }
}
