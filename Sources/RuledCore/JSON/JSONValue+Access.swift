extension JSONValue {
  /// The string, if it is one.
  package var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  /// The integer, if it is one.
  package var intValue: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The number, whether it is written as an integer or not.
  package var doubleValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The boolean, if it is one.
  package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The elements, if it is an array.
  package var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  /// The members, if it is an object.
  package var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

  /// Whether it is `null`.
  package var isNull: Bool { if case .null = self { true } else { false } }

  /// The member of that name, if this is an object and has it.
  package subscript(name: String) -> JSONValue? { objectValue?[name] }

  /// The element at that position, if this is an array and has it.
  package subscript(position: Int) -> JSONValue? {
    guard let elements = arrayValue, elements.indices.contains(position) else { return nil }
    return elements[position]
  }
}
