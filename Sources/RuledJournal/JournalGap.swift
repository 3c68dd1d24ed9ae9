package import RuledCore
import RuledStore

/// A part of the history that the journal does not have.
package struct JournalGap: Sendable, Equatable {
  /// The first missing sequence.
  package var first: UInt64
  /// The last missing sequence.
  package var last: UInt64
  package var reason: String
  /// Whether the entries are there, and only a snapshot is missing to replay them from.
  package var isListed: Bool
  /// Whether the bytes of the entries are there, and can't be read.
  package var isDamage = false

  package init(first: UInt64, last: UInt64, reason: String, isListed: Bool = false) {
    self.first = first
    self.last = last
    self.reason = reason
    self.isListed = isListed
  }
}

extension JournalGap {
  /// The gap of a block that can't be read.
  init(_ header: BlockHeader, unreadable error: StoreError) {
    self.init(first: header.first, last: header.last, reason: error.description)
    isDamage = true
  }

  /// Appends the gap as a block, and returns its header.
  func write(into buffer: ByteBuffer) -> BlockHeader {
    let text = ByteBuffer(capacity: 128)
    text.append(contentsOf: reason)
    defer { withExtendedLifetime(text) {} }
    var header = BlockHeader(kind: .gap, first: first, last: last, earliest: .max, latest: .min)
    header.contentBytes = text.count
    header.write(filter: [], contents: text.bytes, into: buffer)
    return header
  }

  /// The gap as `log`, `journal` and reports show it.
  package var json: JSONValue {
    .members([
      "first": .integer(Int64(clamping: first)), "last": .integer(Int64(clamping: last)), "reason": .string(reason),
      "listed": isListed ? true : nil,
    ])
  }
}
