/// Why a text is no Lua.
package struct SyntaxError: Error, Sendable, Equatable {
  /// The line, from 1.
  package let line: Int
  package let message: String
  /// Whether the only fault so far is too deep nesting, which Lua itself does not refuse.
  let isTooDeep: Bool

  init(line: Int, message: String, isTooDeep: Bool = false) {
    self.line = line
    self.message = message
    self.isTooDeep = isTooDeep
  }
}
