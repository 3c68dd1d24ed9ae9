/// A JSON value, for tools, configuration and tests; events and state stay text or Lua values.
///
/// An integer and a float keep their kind: 1 is an `integer`, 1.0 a `number`, and they are not equal.
/// This is the value alone: `RuledJSON` reads it from text and writes it.
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits 64 bits.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}

extension JSONValue {
  /// An object of these members, in order, without those that are nil.
  package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    var object = JSONObject()
    for (name, value) in members {
      if let value { object[name] = value }
    }
    return .object(object)
  }

  package var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  package var intValue: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The number, whether it is written as an integer or not.
  package var doubleValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  package var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  package var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

  package var isNull: Bool { if case .null = self { true } else { false } }

  package subscript(name: String) -> JSONValue? { objectValue?[name] }

  package subscript(position: Int) -> JSONValue? {
    guard let elements = arrayValue, elements.indices.contains(position) else { return nil }
    return elements[position]
  }
}

extension JSONValue: Equatable {
  /// Whether both are the same value.
  ///
  /// Strings are compared byte for byte, objects without regard to order.
  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): left.isIdentical(to: right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}

extension Int64 {
  /// The whole number that a float is.
  ///
  /// Nil for -2⁶³, too: the first whole numbers beyond 64 bits round to it.
  package init?(whole number: Double) {
    guard number > -0x1p63 else { return nil }
    self.init(exactly: number)
  }
}

extension JSONValue {
  /// A number, as an integer where it is whole.
  package static func shortest(_ number: Double) -> JSONValue {
    Int64(exactly: number).map { .integer($0) } ?? .number(number)
  }

  /// Whether both are the same value, numbers compared without regard to their kind: 1 is 1.0.
  package func isSame(as other: JSONValue) -> Bool {
    switch (self, other) {
    case (.integer(let integer), .number(let number)), (.number(let number), .integer(let integer)):
      Int64(exactly: number) == integer
    case (.array(let own), .array(let others)):
      own.count == others.count && zip(own, others).allSatisfy { $0.isSame(as: $1) }
    case (.object(let own), .object(let others)):
      own.count == others.count && own.allSatisfy { member in others[member.name]?.isSame(as: member.value) ?? false }
    default: self == other
    }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  package init(nilLiteral: ()) { self = .null }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .number(value) }
  package init(stringLiteral value: String) { self = .string(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object; of a repeated name the last one wins.
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements.map { (name: $0.0, value: $0.1) }))
  }
}
