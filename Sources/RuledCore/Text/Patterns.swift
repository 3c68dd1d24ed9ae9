/// Which event types a rule listens to: one type, all that begin with a prefix, or every one.
package enum EventPattern: Sendable, Hashable {
  /// The type itself.
  case exact(String)
  /// All types with this prefix, which ends in a dot: `session.*` does not match `session`.
  case prefix(String)
  /// Every event.
  case any

  /// The pattern that `text` states: a type, a prefix that ends in `.*`, or `*`; nil if it is none of these.
  package init?(_ text: String) {
    guard text != "*" else {
      self = .any
      return
    }
    let isPrefix = text.utf8.count > 2 && text.hasSuffix(".*")
    let stem = isPrefix ? String(text.dropLast()) : text
    guard !stem.isEmpty, stem.utf8.count <= Limits.typeBytes, !stem.utf8.contains(UInt8(ascii: "*")),
      stem.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    self = isPrefix ? .prefix(stem) : .exact(stem)
  }

  /// Whether it means one type.
  package var isExact: Bool { if case .exact = self { true } else { false } }

  /// Whether an event of that type is meant.
  package func matches(_ type: String) -> Bool {
    switch self {
    case .exact(let name): name.isIdentical(to: type)
    case .prefix(let prefix): type.utf8.starts(with: prefix.utf8)
    case .any: true
    }
  }

  /// The pattern as written.
  package var text: String {
    switch self {
    case .exact(let name): name
    case .prefix(let prefix): prefix + "*"
    case .any: "*"
    }
  }
}

/// A pattern in which `*` matches any run of characters, even an empty one.
///
/// Every other character matches itself.
package struct GlobPattern: Sendable, Hashable {
  /// The pattern as written.
  package let text: String
  private let pattern: [UInt8]

  package init(_ text: String) {
    self.text = text
    pattern = Array(text.utf8)
  }

  /// Whether all of `bytes` matches.
  ///
  /// - Complexity: O(*n* · *m*) at worst, O(*n*) for one `*`.
  package func matches(_ bytes: ByteView) -> Bool {
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

/// A string that is equal only to itself byte for byte, as names in JSON and in a query string are.
///
/// `String` compares by canonical equivalence: a composed and a decomposed é would be one key.
struct ExactName: Hashable {
  let text: String

  static func == (left: ExactName, right: ExactName) -> Bool { left.text.isIdentical(to: right.text) }

  func hash(into hasher: inout Hasher) {
    text.withView { hasher.combine(bytes: $0.memory) }
  }
}

extension String {
  /// Whether both have the same bytes in UTF-8.
  package func isIdentical(to other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}
