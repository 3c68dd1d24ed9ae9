/// Which event types a rule listens to: one type, all that begin with a prefix, or every one.
package enum EventPattern: Sendable, Hashable {
  case exact(String)
  /// All types with this prefix, which ends in a dot: `session.*` does not match `session`.
  case prefix(String)
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

  package var isExact: Bool { if case .exact = self { true } else { false } }

  package func matches(_ type: String) -> Bool {
    switch self {
    case .exact(let name): name.isIdentical(to: type)
    case .prefix(let prefix): type.utf8.starts(with: prefix.utf8)
    case .any: true
    }
  }

  package var text: String {
    switch self {
    case .exact(let name): name
    case .prefix(let prefix): prefix + "*"
    case .any: "*"
    }
  }
}
