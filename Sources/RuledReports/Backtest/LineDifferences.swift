/// Finds the parts in the lines of one side of an explained event that the other side does not have.
///
/// Lines are compared by their parts, which end after each comma: of a long list only the elements that differ are marked.
struct LineDifferences {
  /// How many characters wide a line's beginning is, the branches of the tree, and its parts in order, without a line feed.
  typealias Line = (indent: Int, parts: [(text: String, isMarked: Bool)])

  private let lines: Set<String>
  private let parts: Set<Substring>

  init(_ other: [String]) {
    lines = Set(other)
    parts = Set(other.flatMap { Self.split($0).parts.map(Self.name) })
  }

  /// A line of this side, with marks on the parts that the other side does not have, neighbouring parts together.
  func marked(_ line: String) -> Line {
    let (branches, found) = Self.split(line)
    var parts: [(text: String, isMarked: Bool)] = []
    if !branches.isEmpty { parts.append((String(branches), false)) }
    let isSame = lines.contains(line)
    for (index, part) in found.enumerated() {
      let isMarked = !isSame && !self.parts.contains(Self.name(part))
      if index > 0, let last = parts.last, last.isMarked == isMarked {
        parts[parts.count - 1].text += part
      } else {
        parts.append((String(part), isMarked))
      }
    }
    return (branches.count, parts)
  }

  /// The branches of the tree at a line's beginning, and the rest of the line in parts.
  private static func split(_ line: String) -> (branches: Substring, parts: [Substring]) {
    let branches = line.prefix { "│├└─ ".contains($0) }
    var parts: [Substring] = []
    var rest = line[branches.endIndex...]
    while let comma = rest.firstIndex(of: ",") {
      parts.append(rest[...comma])
      rest = rest[rest.index(after: comma)...]
    }
    if !rest.isEmpty { parts.append(rest) }
    return (branches, parts)
  }

  /// A part without the space and the comma around it.
  private static func name(_ part: Substring) -> Substring {
    var name = part.drop { $0 == " " }
    if name.last == "," { name.removeLast() }
    return name
  }
}
