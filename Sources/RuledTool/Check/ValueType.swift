internal import RuledLua

/// The type of a value of the host, as far as the check of rules cares.
indirect enum ValueType: Equatable, Sendable {
  /// Any value, or an unknown one.
  case any
  case string
  case number
  case boolean
  case function
  case table
  /// A table with these members and no others.
  case record([Member])
  case list(ValueType)

  struct Member: Equatable, Sendable {
    let name: String
    let type: ValueType
  }

  /// The type that a text of `RuleLibrary` tells, such as `{ key: string?, id: string? }?` or `string[]`.
  init(_ text: some StringProtocol) {
    let text = text.last == "?" ? text.dropLast() : text[...]
    switch text {
    case "string": self = .string
    case "number", "integer": self = .number
    case "boolean": self = .boolean
    case _ where text.hasSuffix("[]"): self = .list(ValueType(text.dropLast(2)))
    case _ where text.hasPrefix("{"): self = .record(Self.members(text.dropFirst(2).dropLast(2)))
    case _ where text.hasPrefix("table"): self = .table
    default: self = .any
    }
  }

  init(_ type: DataType) {
    switch type {
    case .any: self = .any
    case .string: self = .string
    case .boolean: self = .boolean
    case .integer, .number: self = .number
    case .object, .array, .members: self = .table
    }
  }

  /// The type of a literal; `any` for other expressions.
  init(literal node: SyntaxNode) {
    switch node.kind {
    case .string: self = .string
    case .number: self = .number
    case .true, .false: self = .boolean
    case .function: self = .function
    case .table: self = .table
    default: self = .any
    }
  }

  private static func members(_ list: some StringProtocol) -> [Member] {
    var parts: [String] = [""], depth = 0
    for character in list {
      if "<{".contains(character) { depth += 1 }
      if ">}".contains(character) { depth -= 1 }
      if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
    }
    return parts.map { part in
      let sides = part.drop { $0 == " " }.split(separator: ":", maxSplits: 1)
      return Member(name: String(sides[0]), type: ValueType(sides[1].drop { $0 == " " }))
    }
  }

  /// Its name in a message.
  var text: String {
    switch self {
    case .any: "any value"
    case .string: "a string"
    case .number: "a number"
    case .boolean: "a boolean"
    case .function: "a function"
    case .table, .record, .list: "a table"
    }
  }

  /// Whether no value is of both types.
  func excludes(_ other: ValueType) -> Bool { self != .any && other != .any && text != other.text }
}
