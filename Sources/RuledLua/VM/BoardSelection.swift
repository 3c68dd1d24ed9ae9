package import RuledCore

/// Which places of a board a query asks for.
package enum BoardSelection {
  /// So many from a rank on.
  case top(Int, from: Int)
  /// A subject's and so many on each side of it.
  case around(ByteView, Int)
}
