/// A word of a Lua text.
package struct LuaToken: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A name that is no keyword.
    case name
    case keyword
    /// An operator or a bracket, or a byte that no Lua text may have.
    case symbol
    case number
    /// A string; the token's text is its value.
    case string
    /// The end of the text.
    case end
  }

  package let kind: Kind
  /// The word as written; of a string, its value.
  package let text: String
  /// Its bytes in the text.
  package let range: Range<Int>
  /// The line on which it ends, from 1, as Lua counts.
  package let line: Int
}
