/// The differences of two texts, as `diff -u` prints them.
enum UnifiedDiff {
  /// How many lines that are equal stand around a difference.
  private static let context = 3

  private static let missingNewline = "\n\\ No newline at end of file\n"

  /// A line of the result: of the old text, of the new one, or of both.
  private typealias Line = (sign: Character, text: String)

  /// The difference of one file: the hunks after the names of the file; a text is nil if the file does not exist.
  static func text(_ old: String?, _ new: String?, path: String) -> String {
    guard old != new else { return "" }
    var text = "--- \(old == nil ? "/dev/null" : "a/\(path)")\n+++ \(new == nil ? "/dev/null" : "b/\(path)")\n"
    let lines = lines(from: Self.split(old), to: Self.split(new))
    var start = 0
    while let first = lines[start...].firstIndex(where: { $0.sign != " " }) {
      var last = first
      while let next = lines[(last + 1)...].prefix(2 * context + 1).firstIndex(where: { $0.sign != " " }) {
        last = next
      }
      let hunk = max(start, first - context)..<min(lines.count, last + 1 + context)
      text += header(of: hunk, in: lines)
      for line in lines[hunk] { text += "\(line.sign)\(line.text)" + (line.text.hasSuffix("\n") ? "" : missingNewline) }
      start = hunk.upperBound
    }
    return text
  }

  /// The lines, each with its newline.
  private static func split(_ text: String?) -> [String] {
    var lines = (text ?? "").split(separator: "\n", omittingEmptySubsequences: false).map { "\($0)\n" }
    lines[lines.count - 1].removeLast()
    return lines.filter { !$0.isEmpty }
  }

  /// All lines of both texts, in order; removed lines stand before those that are added in their place.
  private static func lines(from old: [String], to new: [String]) -> [Line] {
    let difference = new.difference(from: old)
    var (removed, added) = (Set<Int>(), Set<Int>())
    for change in difference {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): added.insert(offset)
      }
    }
    var lines: [Line] = []
    var (from, to) = (0, 0)
    while from < old.count || to < new.count {
      if removed.contains(from) {
        lines.append(("-", old[from]))
        from += 1
      } else if added.contains(to) {
        lines.append(("+", new[to]))
        to += 1
      } else {
        lines.append((" ", old[from]))
        (from, to) = (from + 1, to + 1)
      }
    }
    return lines
  }

  private static func header(of hunk: Range<Int>, in lines: [Line]) -> String {
    func range(_ other: Character) -> String {
      let before = lines[..<hunk.lowerBound].count { $0.sign != other }
      let count = lines[hunk].count { $0.sign != other }
      return "\(count == 0 ? before : before + 1),\(count)"
    }
    return "@@ -\(range("+")) +\(range("-")) @@\n"
  }
}
