package import RuledCore

/// The time at the beginning of a remembered outcome: microseconds since 1970 as a big-endian `Int64`.
package enum StoredExpiry {
  static let byteCount = 8

  /// The time at the beginning of `value`; nil when that is too short to hold one.
  package static func read(_ value: ByteView) -> Int64? {
    guard value.count >= byteCount else { return nil }
    return Int64(bigEndian: value.load(at: 0, as: Int64.self))
  }

  /// Whether `value` begins with a time before `cutoff`; a value too short for a time is kept.
  package static func isOver(_ value: ByteView, before cutoff: Int64) -> Bool {
    guard let expiry = read(value) else { return false }
    return expiry < cutoff
  }
}
