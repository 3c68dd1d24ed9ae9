package struct DueTimer: Sendable, Hashable, Comparable {
  /// When it is due, in microseconds.
  package let due: Int64
  package let subject: [UInt8]
  package let plugin: [UInt8]
  package let name: [UInt8]

  package init(due: Int64, subject: [UInt8], plugin: [UInt8], name: [UInt8]) {
    self.due = due
    self.subject = subject
    self.plugin = plugin
    self.name = name
  }

  /// Whether a timer comes before another, in the order in which the store has them.
  package static func < (left: Self, right: Self) -> Bool {
    guard left.due == right.due else { return left.due < right.due }
    return [left.subject, left.plugin, left.name].joined(separator: [0])
      .lexicographicallyPrecedes([right.subject, right.plugin, right.name].joined(separator: [0]))
  }
}
