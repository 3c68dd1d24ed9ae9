internal import RuledCore

/// Something wrong in the rules or the configuration, and where.
struct Finding: Equatable {
  /// The file, relative to the rules folder, or the configuration file as it was named.
  let file: String
  /// The line, 0 when the whole file is meant.
  let line: Int
  /// What is wrong.
  let message: String

  /// The finding as `file:line: message`.
  var text: String {
    if file.isEmpty { return message }
    return line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)"
  }

  /// The finding as JSON.
  var json: JSONValue {
    ["file": .string(file), "line": .integer(Int64(line)), "message": .string(message)]
  }
}
