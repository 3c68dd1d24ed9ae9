import RuledCore

struct PostgresStatement: Sendable {
  /// Its text, with `$1` and so on for the parameters.
  let text: StaticString
  /// The name under which the server prepares it at its first execution; nil for one that is rarely executed.
  let name: StaticString?

  /// A statement that is parsed each time.
  init(_ text: StaticString) {
    self.text = text
    name = nil
  }

  /// A statement that the server prepares once.
  init(kept name: StaticString, _ text: StaticString) {
    self.text = text
    self.name = name
  }
}

/// A parameter of a statement.
enum PostgresValue {
  /// An int8.
  case integer(Int64)
  /// A text.
  case text(String)
  /// A bytea.
  case bytes(ByteView)
}
