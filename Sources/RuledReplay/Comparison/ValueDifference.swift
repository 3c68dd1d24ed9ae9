import RuledCore

/// Finds the differences of two values, down to their members.
enum ValueDifference {
  /// How many differences of one pair of values are listed.
  private static let most = 32

  /// The differences of two values that are both objects or both arrays; none for others, which differ as a whole.
  static func between(_ before: [UInt8], _ after: [UInt8]) -> [DecisionTally.Change] {
    guard let left = try? JSONValue(parsing: String(decoding: before, as: UTF8.self)),
      let right = try? JSONValue(parsing: String(decoding: after, as: UTF8.self)), isDivisible(left, right)
    else { return [] }
    var changes: [DecisionTally.Change] = []
    collect(left, right, at: "", into: &changes)
    return changes
  }

  private static func isDivisible(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object, .object), (.array, .array): true
    default: false
    }
  }

  private static func collect(
    _ left: JSONValue?, _ right: JSONValue?, at path: String, into changes: inout [DecisionTally.Change]
  ) {
    guard left != right, changes.count < most else { return }
    if case .object(let left)? = left, case .object(let right)? = right {
      for name in left.names + right.names.filter({ left[$0] == nil }) {
        collect(left[name], right[name], at: path.isEmpty ? name : "\(path).\(name)", into: &changes)
      }
    } else if case .array(let left)? = left, case .array(let right)? = right, left.count == right.count {
      for (left, right) in zip(left, right) { collect(left, right, at: "\(path)[]", into: &changes) }
    } else {
      changes.append(DecisionTally.Change(path: path, before: text(left), after: text(right)))
    }
  }

  private static func text(_ value: JSONValue?) -> [UInt8]? {
    guard let text = value?.text, text.utf8.count <= 256 else { return nil }
    return Array(text.utf8)
  }
}
