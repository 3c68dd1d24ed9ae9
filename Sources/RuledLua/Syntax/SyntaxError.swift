/// Why a text is no Lua.
package struct SyntaxError: Error, Sendable, Equatable {
  /// The line, from 1.
  package let line: Int
  package let message: String
  /// Whether the only fault so far is too deep nesting, which Lua itself does not refuse.
  var isTooDeep = false
  /// How Lua writes what was meant, where another language writes it so; nil where that is not known.
  var hint: String?
}
