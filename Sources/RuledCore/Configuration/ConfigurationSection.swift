/// Reads one table of the configuration key by key and notes what is wrong.
///
/// A key is known once it was asked for; `finish` reports the others.
final class ConfigurationSection {
  private let path: [String]
  private let members: JSONObject
  private var known: [String] = []
  /// What was found wrong so far.
  private(set) var errors: [ConfigurationError] = []

  /// The table that `value` should be.
  init(_ value: JSONValue, path: [String]) {
    self.path = path
    members = value.objectValue ?? [:]
    if value.objectValue == nil { note([], "expected a table, not \(value.kindName)") }
  }

  /// The names that the table has, for tables whose keys are free.
  var names: [String] { members.names }

  /// Notes an error at a path below this table.
  func note(_ key: [String], _ message: String) { errors.append(ConfigurationError(path: path + key, message)) }

  /// The value of a key as `convert` makes it, or nil when it is absent, or not as expected, which is noted.
  func read<Value>(_ key: String, expected: String, _ convert: (JSONValue) -> Value?) -> Value? {
    known.append(key)
    guard let value = members[key] else { return nil }
    let converted = convert(value)
    if converted == nil { note([key], "expected \(expected), not \(value.kindName)") }
    return converted
  }

  /// An integer within a range; a float that is whole counts too.
  func integer(_ key: String, _ range: ClosedRange<Int>) -> Int? {
    read(key, expected: "an integer from \(range.lowerBound) to \(range.upperBound)") { value in
      let integer: Int? =
        switch value {
        case .integer(let value): Int(value)
        case .number(let value): Int(exactly: value)
        default: nil
        }
      return integer.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// A boolean.
  func boolean(_ key: String) -> Bool? { read(key, expected: "true or false", \.boolValue) }

  /// The path of a file or folder.
  func path(_ key: String, longest: Int = 4_095) -> String? {
    read(key, expected: "a path of 1 to \(longest) bytes") { value in
      value.stringValue.flatMap { (1...longest).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil }
    }
  }

  /// What `parse` makes of a string.
  func text<Value>(_ key: String, expected: String, _ parse: (String) -> Value?) -> Value? {
    read(key, expected: expected) { $0.stringValue.flatMap(parse) }
  }

  /// A table within this one; absent ones are not read.
  func section(_ key: String, _ body: (ConfigurationSection) -> Void) {
    known.append(key)
    guard let value = members[key] else { return }
    let section = ConfigurationSection(value, path: path + [key])
    body(section)
    errors += section.errors
  }

  /// The members whose keys were not asked for.
  var remaining: JSONObject { JSONObject(members.filter { !known.contains($0.name) }) }

  /// Notes each key that was not asked for, and the known one that was probably meant.
  func finish() {
    for name in remaining.names {
      let meant = NearestName.find(name, in: known).map { "did you mean \"\($0)\"?" }
      note([name], "unknown key; " + (meant ?? "known are \(known.joined(separator: ", "))"))
    }
  }
}

extension JSONValue {
  /// What kind of value it is, in words that never show the value.
  fileprivate var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer, .number: "this number"
    case .string: "this string"
    case .array: "an array"
    case .object: "a table"
    }
  }
}
