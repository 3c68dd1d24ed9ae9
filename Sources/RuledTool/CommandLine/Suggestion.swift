/// Finds what a mistyped word was probably meant to be.
package enum Suggestion {
  /// The candidate nearest to `word`, if one is near enough to be meant.
  ///
  /// A swap of neighbouring letters counts as one edit, as in the optimal string alignment distance.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    let allowed = max(1, min(3, word.count / 3))
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let distance = candidate.hasPrefix(word) && word.count > 1 ? 1 : distance(Array(word), Array(candidate))
      if distance <= allowed, distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.name
  }

  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for row in 1..<(left.count + 1) {
      var current = [row]
      for column in 1..<(right.count + 1) {
        let cost = left[row - 1] == right[column - 1] ? 0 : 1
        var value = min(
          rows[row - 1][column] + 1, current[column - 1] + 1, rows[row - 1][column - 1] + cost)
        if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
          value = min(value, rows[row - 2][column - 2] + 1)
        }
        current.append(value)
      }
      rows.append(current)
    }
    return rows[left.count][right.count]
  }
}
