import RuledCore

struct PostgresStatement: Sendable, ExpressibleByStringLiteral {
  /// Its text, with `$1` and so on for the parameters.
  let text: StaticString
  /// The name under which the server prepares it at its first execution; nil for a rare statement.
  let name: StaticString?

  /// A statement that is parsed each time.
  init(stringLiteral text: StaticString) {
    self.text = text
    name = nil
  }

  /// A statement that the server prepares once.
  init(kept name: StaticString, _ text: StaticString) {
    self.text = text
    self.name = name
  }
}

enum PostgresValue {
  case integer(Int64)
  case text(String)
  case bytes(ByteView)
}
