internal import RuledCore
internal import RuledLua

/// One test and how it went.
struct TestResult {
  /// The plugin that it tests.
  let plugin: String
  /// Its name.
  let name: String
  /// The file that declares it, relative to the rules folder.
  let file: String
  /// The line at which it is declared.
  let line: Int
  /// How long it took, in microseconds.
  let microseconds: Int
  /// Why it failed; nil when it passed.
  let failure: Failure?

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
    }
    return .object(object)
  }
}
