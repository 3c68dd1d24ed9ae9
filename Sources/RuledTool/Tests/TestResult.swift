internal import RuledCore

/// The result of one test.
struct TestResult: Sendable {
  /// The plugin that it belongs to.
  let plugin: String
  let name: String
  /// The file that declares it, relative to the rules folder.
  let file: String
  /// The line at which it is declared.
  let line: Int
  /// How long it took, in microseconds.
  let microseconds: Int
  /// Why it failed; nil when it passed.
  let failure: Failure?
  /// What rules logged meanwhile.
  let log: [String]

  /// The result as JSON.
  var json: JSONValue {
    var object: JSONObject = [
      "plugin": .string(plugin), "name": .string(name), "file": .string(file), "line": .integer(Int64(line)),
      "passed": .bool(failure == nil), "microseconds": .integer(Int64(microseconds)),
    ]
    if let failure {
      object["failure"] = [
        "message": .string(failure.message), "file": .string(failure.file ?? file),
        "line": .integer(Int64(failure.line ?? line)),
      ]
      if !log.isEmpty { object["log"] = .array(log.map { .string($0) }) }
    }
    return .object(object)
  }
}
