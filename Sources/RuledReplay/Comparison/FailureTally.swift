import RuledCore
import RuledJournal

/// Counts the failures of both sides, and compares those of an event without file and line: code that moved fails as it did.
struct FailureTally: Sendable {
  private(set) var total = CountOfSides()
  /// The candidate's failures, without their rules.
  private var kinds = CommonCounts<Failure, Void>(capacity: 256)

  /// Counts the failures of an event, each side's the elements of an array; nil where the event did not happen.
  ///
  /// - Returns: whether both sides failed alike.
  mutating func add(before: [UInt8]?, after: [UInt8]?, at position: UInt64) -> Bool {
    if before?.isEmpty ?? true, after?.isEmpty ?? true { return true }
    let (left, right) = (Self.read(before), Self.read(after))
    total = total + CountOfSides(before: left.count, after: right.count)
    for var failure in right {
      failure.rule = nil
      kinds.add(failure, at: position)
    }
    return Self.withoutLocations(left) == Self.withoutLocations(right)
  }

  mutating func merge(_ other: FailureTally) {
    total = total + other.total
    kinds.merge(other.kinds)
  }

  /// The counts, and the commonest of the candidate's failures.
  var json: JSONValue {
    let listed = kinds.top(20).map { entry -> JSONValue in
      [
        "plugin": .string(entry.thing.plugin), "kind": .string(entry.thing.kind.rawValue),
        "message": .string(entry.thing.message), "file": entry.thing.file.map(JSONValue.string) ?? .null,
        "line": entry.thing.line.map { .integer(Int64($0)) } ?? .null, "count": .integer(Int64(entry.count)),
      ]
    }
    return ["before": .integer(Int64(total.before)), "after": .integer(Int64(total.after)), "kinds": .array(listed)]
  }

  /// Whether both texts state the same failures, their locations aside.
  static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left == right || withoutLocations(read(left)) == withoutLocations(read(right))
  }

  private static func read(_ failures: [UInt8]?) -> [Failure] {
    guard let failures, !failures.isEmpty else { return [] }
    return (JournalEntry.list(failures).arrayValue ?? []).compactMap(Failure.init(json:))
  }

  private static func withoutLocations(_ failures: [Failure]) -> [Failure] {
    failures.map { failure in
      var failure = failure
      failure.file = nil
      failure.line = nil
      return failure
    }
  }
}
