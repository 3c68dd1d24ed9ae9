import Glibc
import RuledCore

/// The kind of keys and the hash of their subject: the log's index compares these without reading the keys.
struct KeyScope {
  /// The first byte of the keys.
  let kind: UInt8
  /// A hash of the subject whose keys they are; 0 for all.
  let subject: UInt32

  /// The scope of all keys from `lower` on and below `upper`; nil when they are of several kinds.
  init?(from lower: ByteView, to upper: ByteView?) {
    guard let first = lower.first, let upper, let last = upper.first else { return nil }
    guard first == last || (upper.count == 1 && last == first + 1) else { return nil }
    kind = first
    guard let own = Self.subject(of: lower) else {
      subject = 0
      return
    }
    let end = own.endIndex
    let isWithin = ByteOrder.compare(upper, lower) >= 0 && Self.isWithin(upper, lower, upTo: end)
    subject = isWithin ? Self.hash(lower.extracting(own)) : 0
  }

  /// Whether all keys from `lower` on and below `upper` begin as `lower` does, up to its zero byte at `end`.
  private static func isWithin(_ upper: ByteView, _ lower: ByteView, upTo end: Int) -> Bool {
    guard upper.count > end else { return false }
    let begin = (upper.extracting(..<end), lower.extracting(..<end))
    guard ByteOrder.equal(begin.0, begin.1) else { return false }
    return upper[end] == 0 || (upper[end] == 1 && upper.count == end + 1)
  }

  /// The hash of the subject whose key it is; 0 for a key of no subject.
  @inline(__always) static func tag(_ key: ByteView) -> UInt32 {
    guard let subject = subject(of: key) else { return 0 }
    return hash(key.extracting(subject))
  }

  /// Whether keys of that kind, with that `tag`, may be in the scope.
  @inline(__always) func holds(kind: UInt8, tag: UInt32) -> Bool {
    kind == self.kind && (subject == 0 || tag == subject)
  }

  /// The key's subject; nil if it has none, or none that is valid text.
  static func subjectName(of key: ByteView) -> String? {
    subject(of: key).flatMap { String(validating: key[$0], as: UTF8.self) }
  }

  private static func hash(_ subject: ByteView) -> UInt32 {
    UInt32(truncatingIfNeeded: hash64(subject, seed: 7)) | 1
  }

  /// The range of the subject in a key; nil when there is none, or not the zero byte that ends it.
  @inline(__always) private static func subject(of key: ByteView) -> Range<Int>? {
    guard let first = key.first, let kind = StoreKey.Kind(rawValue: first) else { return nil }
    let start: Int
    switch kind {
    case .record, .once, .timer, .message, .effect, .parked, .earlierEvents, .outcomeIndex, .place,
      .membership:
      start = 1
    case .outcome: start = 1 + StoreKey.outcomeTimeBytes
    case .timerIndex, .counter, .board, .member, .memberCount, .publication, .publicationCursor, .daemon: return nil
    }
    guard key.count > start, let base = key.baseAddress, let end = memchr(base + start, 0, key.count - start) else {
      return nil
    }
    return start..<(UnsafeRawPointer(end) - base)
  }
}
