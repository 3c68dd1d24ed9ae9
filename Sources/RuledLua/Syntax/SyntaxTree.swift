/// A Lua text as a tree, with its variables.
package struct SyntaxTree: Sendable {
  package struct Local: Sendable {
    package let name: String
    package let isParameter: Bool
  }

  /// The block of the file.
  package let root: SyntaxNode
  /// The variables, in the order of their declarations.
  package let locals: [Local]

  /// Reads a text.
  ///
  /// It accepts all texts of Lua 5.4, and leaves to Lua all checks beyond the grammar: jumps and labels, attributes, `...` and limits. Nesting ends at 200
  /// levels, so that a walk over the tree may call itself for each.
  ///
  /// - Throws: the first error, with its line.
  package init(parsing text: [UInt8]) throws(SyntaxError) {
    var parser = try LuaParser(text)
    root = try parser.chunk()
    locals = parser.scopes.locals
  }
}
