internal import RuledCore

/// Values as Lua source text.
enum LuaText {
  private static let words: Set<String> = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
  ]

  /// A value: objects are tables, arrays are made with `array`, and null is `json.null`.
  static func value(_ value: JSONValue) -> String {
    switch value {
    case .null: return "json.null"
    case .string(let text): return string(text)
    case .array(let elements): return elements.isEmpty ? "array {}" : "array { \(list(elements.map(Self.value))) }"
    case .object(let object):
      let members = object.filter { !$0.value.isNull }
      return members.isEmpty ? "{}" : "{ \(list(members.map { "\(name($0.name)) = \(Self.value($0.value))" })) }"
    case .bool, .integer, .number: return value.text
    }
  }

  /// A string literal.
  static func string(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case "\n": literal += "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value)
        literal += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }

  private static func name(_ name: String) -> String {
    let isWord =
      !name.isEmpty && !words.contains(name) && !(name.utf8.first.map { (0x30...0x39).contains($0) } ?? true)
      && name.utf8.allSatisfy { $0 == 0x5F || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
    return isWord ? name : "[\(string(name))]"
  }

  private static func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }
}
