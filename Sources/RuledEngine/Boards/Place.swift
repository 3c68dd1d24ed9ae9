package import RuledCore

/// A score of a subject on a board, and a number: of two subjects the one with the earlier score has the lower number.
package struct Place: Equatable, Sendable {
  package let score: Double
  package let number: UInt64
}

extension Place {
  /// The place with that value in the store; nil if it has another form.
  package init?(_ value: ByteView) {
    guard value.count == 16 else { return nil }
    score = Double(bitPattern: UInt64(bigEndian: value.load(at: 0, as: UInt64.self)))
    number = UInt64(bigEndian: value.load(at: 8, as: UInt64.self))
    guard score.isFinite else { return nil }
  }

  /// Appends the value in the store, which ends with the number.
  func write(to buffer: ByteBuffer) {
    buffer.append(bigEndian: score.bitPattern)
    buffer.append(bigEndian: number)
  }

  /// A score as rules and clients get it: whole numbers as integers.
  static func json(_ score: Double) -> JSONValue {
    abs(score) <= 0x1p53 ? Int64(exactly: score).map { .integer($0) } ?? .number(score) : .number(score)
  }
}
