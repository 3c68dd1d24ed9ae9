/// A word of a Lua text.
struct LuaToken: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
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

  let kind: Kind
  /// The word as written; of a string, its value.
  let text: String
  /// Its bytes in the text.
  let range: Range<Int>
  /// The line on which it ends, from 1, as Lua counts.
  let line: Int
}
