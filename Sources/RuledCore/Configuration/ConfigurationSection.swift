/// Reads one table of the configuration key by key, and notes the errors in it.
///
/// A key is known once it was asked for; `finish` reports the others.
final class ConfigurationSection {
  private let path: [String]
  private let members: JSONObject
  private(set) var known: [String] = []
  private(set) var errors: [ConfigurationError] = []

  init(_ value: JSONValue, path: [String]) {
    self.path = path
    members = value.objectValue ?? [:]
    if value.objectValue == nil { note([], "expected a table, not \(value.shown)") }
  }

  /// The names that the table has, for tables whose keys are free.
  var names: [String] { members.names }

  /// Notes an error at a path below this table.
  func note(_ key: [String], _ message: String) {
    errors.append(ConfigurationError(path: path + key, message: message))
  }

  /// The value of a key as `convert` makes it, or nil when it is absent, or not as expected, which is noted.
  func read<Value>(_ key: String, expected: String, _ convert: (JSONValue) -> Value?) -> Value? {
    known.append(key)
    guard let value = members[key] else { return nil }
    let converted = convert(value)
    if converted == nil {
      let isAsWhole = expected.hasPrefix(value.shown)
      note([key], "expected \(expected)\(isAsWhole ? "; one of its values is something else" : ", not \(value.shown)")")
    }
    return converted
  }

  func number(_ key: String, _ range: ClosedRange<Double>) -> Double? {
    read(key, expected: "a number from \(range.lowerBound) to \(Int(range.upperBound))") { value in
      value.doubleValue.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// An integer within a range; a float that is whole counts too.
  func integer(_ key: String, _ range: ClosedRange<Int>) -> Int? {
    read(key, expected: "an integer from \(range.lowerBound) to \(range.upperBound)") { value in
      let integer: Int? =
        switch value {
        case .integer(let value): Int(value)
        case .number(let value): Int64(whole: value).map { Int($0) }
        default: nil
        }
      return integer.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  func boolean(_ key: String) -> Bool? { read(key, expected: "true or false", \.boolValue) }

  func path(_ key: String, longest: Int = 4_095) -> String? {
    read(key, expected: "a path of 1 to \(longest) bytes") { value in
      value.stringValue.flatMap { (1...longest).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil }
    }
  }

  /// The value that `parse` makes of a string.
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
      let all = "known are \(known.joined(separator: ", "))"
      note([name], "unknown key" + NearestName.hint(name, in: known, otherwise: all) { "\"\($0)\"" })
    }
  }
}

extension JSONValue {
  /// The value as an error shows it: a long string in part, and one that may hold a secret not at all.
  package var shown: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let text): text.mayHoldSecret ? "this string" : text.shortened.debugDescription
    case .array: "an array"
    case .object: "a table"
    }
  }
}

extension String {
  /// Whether it may hold a password or a token: it looks like a URL, an address with a user, or a list of settings.
  fileprivate var mayHoldSecret: Bool { contains("//") || contains("=") || dropFirst().contains("@") }

  /// Its first 40 characters, with a mark if there are more.
  fileprivate var shortened: String { count > 40 ? "\(prefix(40))…" : self }
}
