internal import RuledCore

/// What became of a mutant.
struct MutantResult: Sendable {
  enum End: String, Sendable {
    /// A test failed.
    case killed
    /// It does not load.
    case refused
    /// A test took much longer than without the change.
    case endless
    /// All tests passed that run what was changed.
    case survived
    /// No test runs what was changed.
    case unreached
  }

  let mutant: Mutant
  let end: End
  /// The first test that failed, if one did.
  let test: String?

  /// Whether a test noticed the change.
  var isNoticed: Bool { end != .survived && end != .unreached }

  /// The result as JSON.
  var json: JSONValue {
    var object: JSONObject = [
      "file": .string(mutant.file), "line": .integer(Int64(mutant.line)), "change": .string(mutant.text),
      "result": .string(end.rawValue),
    ]
    if let test { object["test"] = .string(test) }
    return .object(object)
  }
}
