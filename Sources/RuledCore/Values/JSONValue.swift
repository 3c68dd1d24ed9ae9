/// A JSON value, for tools, configuration and tests; events and state stay text or Lua values.
///
/// An integer and a float keep their kind: 1 is an `integer`, 1.0 a `number`, and they are not equal.
/// This is the value alone: `RuledJSON` reads it from text and writes it.
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits 64 bits.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}

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

  package var isNull: Bool { if case .null = self { true } else { false } }

  /// The member of that name, if this is an object and has it.
  package subscript(name: String) -> JSONValue? { objectValue?[name] }

  /// The element at that position, if this is an array and has it.
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

/// The members of a JSON object in the order in which they were written; each name occurs once.
package struct JSONObject: Sendable {
  package typealias Member = (name: String, value: JSONValue)

  package private(set) var members: [Member] = []
  /// The index of each name, for objects that are too long to search.
  private var index: [ExactName: Int]?

  private static let searchedUpTo = 16

  package init() {}

  /// An object of these members; of a repeated name the last one wins.
  package init(_ members: some Sequence<Member>) {
    for member in members { self[member.name] = member.value }
  }

  /// The member's value; nil is no member, and setting nil removes it.
  ///
  /// - Complexity: O(1) on average to read and to set, O(*n*) to remove.
  package subscript(name: String) -> JSONValue? {
    get { position(of: name).map { members[$0].value } }
    set {
      switch (position(of: name), newValue) {
      case (let position?, let value?): members[position].value = value
      case (let position?, nil):
        members.remove(at: position)
        index = nil
        indexIfLong()
      case (nil, let value?):
        members.append((name, value))
        if index == nil { indexIfLong() } else { index?[ExactName(text: name)] = members.count - 1 }
      case (nil, nil): break
      }
    }
  }

  private func position(of name: String) -> Int? {
    if let index { return index[ExactName(text: name)] }
    return members.firstIndex { $0.name.isIdentical(to: name) }
  }

  private mutating func indexIfLong() {
    guard members.count > Self.searchedUpTo else { return }
    var index: [ExactName: Int] = [:]
    for (position, member) in members.enumerated() { index[ExactName(text: member.name)] = position }
    self.index = index
  }

  package var names: [String] { members.map(\.name) }
}

extension JSONObject: RandomAccessCollection {
  package var startIndex: Int { 0 }
  /// The position after the last member.
  package var endIndex: Int { members.count }
  /// The member at a position.
  package subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Equatable {
  /// Whether both have the same members, in whatever order.
  package static func == (left: JSONObject, right: JSONObject) -> Bool {
    left.count == right.count && left.members.allSatisfy { right[$0.name] == $0.value }
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// An object written as a literal.
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(elements.map { (name: $0.0, value: $0.1) })
  }
}
