internal import RuledCore

struct MutantResult: Sendable {
  enum End: String, Sendable {
    case killed
    case refused
    /// A test took much longer than without the change.
    case endless
    case survived
    case unreached
  }

  let mutant: Mutant
  let end: End
  let test: String?

  var isNoticed: Bool { end != .survived && end != .unreached }

  var json: JSONValue {
    .members([
      "file": .string(mutant.file), "line": .integer(Int64(mutant.line)), "change": .string(mutant.text),
      "result": .string(end.rawValue), "test": test.map(JSONValue.string),
    ])
  }
}
