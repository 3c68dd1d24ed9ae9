import RuledCore
import RuledJSON

/// A count on both sides.
struct CountOfSides: Sendable, Equatable {
  /// The baseline's.
  var before = 0
  /// The candidate's.
  var after = 0

  static func + (left: CountOfSides, right: CountOfSides) -> CountOfSides {
    CountOfSides(before: left.before + right.before, after: left.after + right.after)
  }

  /// The count as `{"before","after"}`.
  var json: JSONValue { ["before": .integer(Int64(before)), "after": .integer(Int64(after))] }
}
