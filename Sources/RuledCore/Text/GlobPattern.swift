/// A pattern in which `*` matches any run of characters, even an empty one.
///
/// Every other character matches itself.
package struct GlobPattern: Sendable, Hashable {
  package let text: String
  private let pattern: [UInt8]

  package init(_ text: String) {
    self.text = text
    pattern = Array(text.utf8)
  }

  /// Whether all of `bytes` matches.
  ///
  /// - Complexity: O(*n* · *m*) at worst, O(*n*) for one `*`.
  func matches(_ bytes: ByteView) -> Bool {
    var position = 0
    var inPattern = 0
    var retry: (position: Int, inPattern: Int)?
    while position < bytes.count {
      if inPattern < pattern.count, pattern[inPattern] == UInt8(ascii: "*") {
        inPattern += 1
        retry = (position, inPattern)
      } else if inPattern < pattern.count, pattern[inPattern] == bytes[position] {
        inPattern += 1
        position += 1
      } else if let last = retry {
        retry = (last.position + 1, last.inPattern)
        (position, inPattern) = (last.position + 1, last.inPattern)
      } else {
        return false
      }
    }
    return pattern[inPattern...].allSatisfy { $0 == UInt8(ascii: "*") }
  }

  /// Whether all of `text` matches.
  package func matches(_ text: String) -> Bool {
    text.withView { matches($0) }
  }
}
