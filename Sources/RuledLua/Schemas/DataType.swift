import RuledCore
import RuledJSON

package indirect enum DataType: Sendable {
  /// Any value but null.
  case any
  case string
  case boolean
  /// A whole number of 64 bits; `1.0` is one.
  case integer
  case number
  /// An object with any members.
  case object
  /// An array with any elements, or only with elements of that type.
  case array(DataType?)
  case members(DataSchema)

  private static let named: [(name: String, type: DataType)] = [
    ("string", .string), ("integer", .integer), ("number", .number), ("boolean", .boolean), ("object", .object),
    ("array", .array(nil)), ("any", .any),
  ]

  init?(named name: Substring) {
    guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
    self = found.type
  }

  static var names: [String] { named.map(\.name) }

  init(named name: Substring, at path: String) throws(SchemaError) {
    guard let found = DataType(named: name) else {
      let all = "types are \(Self.names.joined(separator: ", "))"
      let hint = NearestName.hint(String(name), in: Self.names, otherwise: all)
      throw SchemaError("\(path): there is no type '\(name)'\(hint)")
    }
    self = found
  }

  /// The type's name; for a container, with the types of its content.
  package var text: String {
    switch self {
    case .array(let element?): "array of \(element.text)"
    case .members: "object"
    case .any: "any"
    case .string: "string"
    case .boolean: "boolean"
    case .integer: "integer"
    case .number: "number"
    case .object: "object"
    case .array: "array"
    }
  }
}

extension DataType {
  /// The type that a table describes: an array by its one element, or an object.
  init(table: JSONValue, at path: String) throws(SchemaError) {
    switch table {
    case .array(let elements) where elements.count == 1:
      guard let name = elements[0].stringValue else {
        self = .array(try DataType(table: elements[0], at: "\(path)[]"))
        return
      }
      self = .array(try DataType(named: Substring(name), at: "\(path)[]"))
    case .object: self = .members(try DataSchema(table, of: path))
    default:
      throw SchemaError("\(path) must be a type such as \"string\", a table of members, or { TYPE } for an array")
    }
  }

  func json(_ isMeant: Bool) -> JSONValue {
    switch self {
    case .array(let element?): .array([element.json(isMeant)])
    case .members(let schema): schema.json(isMeant)
    default: .string(text)
    }
  }
}

extension DataType {
  /// Whether the value is of the type; the declared content of a container is left to `mismatch`.
  func accepts(_ value: TapeValue) -> Bool {
    switch self {
    case .any: true
    case .string: value.isKind(.string)
    case .boolean: value.bool != nil
    case .integer: value.integer != nil
    case .number: value.double != nil
    case .object: value.isKind(.object)
    case .array(nil): value.isKind(.array)
    case .array, .members: false
    }
  }

  /// Throws the mismatch of a value that `accepts` does not take, if it has one.
  func mismatch(_ value: TapeValue, at path: String) throws(SchemaMismatch) {
    switch self {
    case .members(let schema): try schema.check(value, at: path, onlyKnown: nil)
    case .array(let element?) where value.isKind(.array):
      for (index, item) in value.children.enumerated() where !element.accepts(item) {
        try element.mismatch(item, at: "\(path)[\(index)]")
      }
    default: throw SchemaMismatch(path: path, detail: "must be \(article) \(text), not \(value.kindText)")
    }
  }

  var article: String {
    switch self {
    case .integer, .object, .array, .any, .members: "an"
    default: "a"
    }
  }
}
