package struct SyntaxError: Error, Sendable, Equatable {
  /// The line, from 1.
  package let line: Int
  package let message: String
  /// Whether the only fault so far is too deep nesting, which Lua itself does not refuse.
  var isTooDeep = false
  /// The spelling in Lua for the syntax of another language; nil where that is not known.
  var hint: String?
}
