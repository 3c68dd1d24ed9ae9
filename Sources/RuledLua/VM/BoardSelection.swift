package import RuledCore

/// The places of a board that a query asks for.
package enum BoardSelection {
  /// A number of places from a rank on.
  case top(Int, from: Int)
  /// A subject's place and a number of places on each side of it.
  case around(ByteView, Int)
}
