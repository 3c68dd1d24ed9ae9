package import RuledCore

/// A part of the history that the journal does not have.
package struct JournalGap: Sendable, Equatable {
  /// The first missing sequence.
  package var first: UInt64
  /// The last missing sequence.
  package var last: UInt64
  package var reason: String
  /// Whether the entries are there, and only a snapshot is missing to replay them from.
  package var isListed: Bool

  package init(first: UInt64, last: UInt64, reason: String, isListed: Bool = false) {
    self.first = first
    self.last = last
    self.reason = reason
    self.isListed = isListed
  }
}

extension JournalGap {
  /// The gap as `log`, `journal` and reports show it.
  package var json: JSONValue {
    var json: JSONObject = [
      "first": .integer(Int64(clamping: first)), "last": .integer(Int64(clamping: last)), "reason": .string(reason),
    ]
    if isListed { json["listed"] = true }
    return .object(json)
  }
}
