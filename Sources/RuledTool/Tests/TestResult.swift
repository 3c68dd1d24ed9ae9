internal import RuledCore

struct TestResult: Sendable {
  let plugin: String
  let name: String
  /// The file that declares it, relative to the rules folder.
  let file: String
  let line: Int
  let microseconds: Int
  let failure: Failure?
  /// Whether it called what could fail it, or failed.
  let hasCompared: Bool
  let log: [String]

  var json: JSONValue {
    var object: JSONObject = [
      "plugin": .string(plugin), "name": .string(name), "file": .string(file), "line": .integer(Int64(line)),
      "passed": .bool(failure == nil), "microseconds": .integer(Int64(microseconds)),
    ]
    if !hasCompared { object["compared"] = false }
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
