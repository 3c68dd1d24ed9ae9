/// Names in the order of their bytes, in which beginnings are found without a look at each name.
struct OrderedNames {
  let all: [String]
  private let known: Set<String>
  private let lengths: Set<Int>

  init(_ names: [String]) {
    known = Set(names)
    lengths = Set(known.map(\.utf8.count))
    all = known.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  func contains(_ name: String) -> Bool { known.contains(name) }

  /// Whether a name begins with this text.
  func contains(beginningWith text: String) -> Bool {
    let first = all.partitioningIndex { !$0.utf8.lexicographicallyPrecedes(text.utf8) }
    return first < all.count && all[first].utf8.starts(with: text.utf8)
  }

  /// Whether this text begins with a name.
  func contains(beginningOf text: String) -> Bool {
    lengths.contains { $0 <= text.utf8.count && known.contains(String(decoding: text.utf8.prefix($0), as: UTF8.self)) }
  }
}
