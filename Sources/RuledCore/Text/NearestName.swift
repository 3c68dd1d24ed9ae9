/// Finds the name that someone probably meant.
package enum NearestName {
  /// The known name with the fewest edits from `name`, or nil when none is near.
  ///
  /// Near is one edit for each three letters and at least one, a swap of neighbours counting as one
  /// (optimal string alignment). Two or more letters that a name begins with are one edit from it. Of equally near names
  /// the first counts. Case does not matter.
  package static func find(_ name: String, in known: some Sequence<String>) -> String? {
    guard name.utf8.count <= 256 else { return nil }
    let wanted = Array(name.lowercased().unicodeScalars)
    guard wanted.count <= 64 else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in known {
      let other = Array(candidate.lowercased().unicodeScalars)
      let bound = max(1, max(wanted.count, other.count) / 3)
      let isBeginning = wanted.count > 1 && other.starts(with: wanted)
      guard other.count <= 64, isBeginning || abs(other.count - wanted.count) <= bound else { continue }
      let distance = isBeginning ? min(1, other.count - wanted.count) : distance(wanted, other)
      if distance <= bound, distance < min(best?.distance ?? .max, max(wanted.count, other.count)) {
        best = (candidate, distance)
      }
    }
    return best?.name
  }

  /// The event type that somebody probably meant, or nil when none is near: the segments that two types begin with don't make them any nearer.
  package static func find(type: String, in known: some Sequence<String>) -> String? {
    let segments = type.split(separator: ".", omittingEmptySubsequences: false)
    let near = known.filter { other in
      let others = other.split(separator: ".", omittingEmptySubsequences: false)
      let common = zip(segments, others).prefix { $0 == $1 }.count
      let rest = others.dropFirst(common).joined(separator: ".")
      return find(segments.dropFirst(common).joined(separator: "."), in: [rest]) != nil
    }
    return find(type, in: near)
  }

  /// The end of an error message about an unknown name: `; did you mean 'NAME'?` with the known name that is near.
  ///
  /// When none is near, `; ` and `otherwise`, or nothing without it. `write` puts a name as the user writes it, quoted by default.
  package static func hint(
    _ name: String, in known: some Sequence<String>, otherwise: String? = nil, write: (String) -> String = { "'\($0)'" }
  ) -> String {
    (find(name, in: known).map { "did you mean \(write($0))?" } ?? otherwise).map { "; \($0)" } ?? ""
  }

  private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for row in 0..<left.count {
      var current = [row + 1]
      for column in 0..<right.count {
        let replaced = previous[column] + (left[row] == right[column] ? 0 : 1)
        var best = min(previous[column + 1] + 1, current[column] + 1, replaced)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforePrevious[column - 1] + 1)
        }
        current.append(best)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[right.count]
  }
}

/// Whether two texts differ by one letter: added, left out, replaced, or swapped with its neighbour.
package func isOneEdit(_ left: String, _ right: String) -> Bool {
  isOneEdit(Array(left.utf8), Array(right.utf8))
}

package func isOneEdit(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  guard abs(one.count - other.count) <= 1 else { return false }
  var head = 0
  while head < min(one.count, other.count), one[head] == other[head] { head += 1 }
  guard head < max(one.count, other.count) else { return false }
  let a = one[head...], b = other[head...]
  if a.count != b.count { return a.count > b.count ? a.dropFirst().elementsEqual(b) : b.dropFirst().elementsEqual(a) }
  if a.dropFirst().elementsEqual(b.dropFirst()) { return true }
  return a.count > 1 && a[head] == b[head + 1] && a[head + 1] == b[head]
    && a.dropFirst(2).elementsEqual(b.dropFirst(2))
}
