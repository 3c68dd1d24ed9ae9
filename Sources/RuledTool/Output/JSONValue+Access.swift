package import RuledCore

extension JSONValue {
  /// The value that `text` holds, or nil when it is not JSON.
  package init?(text: String) {
    guard let value = try? JSONValue(parsing: text) else { return nil }
    self = value
  }

  /// An object of these members, in order; a member that is nil is left out.
  package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    var object = JSONObject()
    for (name, value) in members {
      if let value { object[name] = value }
    }
    return .object(object)
  }

  /// The object's member, if this is an object that has it and it is not null.
  package func member(_ name: String) -> JSONValue? {
    guard case .object(let object) = self, let value = object[name], value != .null else { return nil }
    return value
  }

  /// The object's members in order, if this is an object.
  package var asMembers: [(name: String, value: JSONValue)]? {
    guard case .object(let object) = self else { return nil }
    return object.map { ($0.key, $0.value) }
  }

  /// The string, if this is one.
  package var asString: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The whole number, if this is one.
  package var asInteger: Int64? {
    switch self {
    case .integer(let number): number
    case .number(let number): Int64(exactly: number)
    default: nil
    }
  }

  /// The number, if this is one.
  package var asNumber: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    default: nil
    }
  }

  /// The truth value, if this is one.
  package var asBool: Bool? {
    guard case .bool(let flag) = self else { return nil }
    return flag
  }

  /// The elements, if this is an array.
  package var asArray: [JSONValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// A string as it is, anything else as JSON on one line.
  package var brief: String { asString ?? text }
}

extension ToolEnvironment {
  /// Prints JSON: laid out on a terminal, on one line elsewhere.
  package func print(json: JSONValue) {
    output.write((output.isTerminal ? json.prettyText() : json.text) + "\n")
  }
}
