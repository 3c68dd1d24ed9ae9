internal import RuledCore

/// One change of a file of the rules, which a test should notice.
struct Mutant: Sendable {
  let file: String
  let line: Int
  let range: Range<Int>
  let replacement: String
  /// The original text, in one line.
  let original: String

  /// The change as `a == b` → `a ~= b`.
  var text: String { "\(original)  →  \(replacement)" }

  func apply(to text: [UInt8]) -> [UInt8] {
    Array(text[..<range.lowerBound]) + Array(replacement.utf8) + Array(text[range.upperBound...])
  }
}

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

  /// The folder of the changed file: a plugin's name, or `lib`.
  var plugin: String { String(mutant.file.prefix { $0 != "/" }) }
}
