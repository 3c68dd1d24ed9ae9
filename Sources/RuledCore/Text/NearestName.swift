/// Finds the name that someone probably meant.
package enum NearestName {
  /// The most known names that one is compared with.
  package static let most = 1000

  /// The known name with the fewest edits from `name`, or nil when none is near.
  ///
  /// Near is one edit for each three letters and at least one, a swap of neighbours counting as one
  /// (optimal string alignment). Two or more letters that a name begins with are one edit from it. Of equally near names
  /// the first counts. Case does not matter. Of very many known names the first ones are looked at.
  package static func find(_ name: String, in known: some Sequence<String>) -> String? {
    near(name, in: known.prefix(most)).min { $0.distance < $1.distance }?.name
  }

  /// The event type that somebody probably meant, or nil when none is near: the segments that two types begin with don't make them any nearer.
  package static func find(type: String, in known: some Sequence<String>) -> String? {
    let segments = type.split(separator: ".", omittingEmptySubsequences: false)
    let near = near(type, in: known.prefix(most)).filter { other, _ in
      let others = other.split(separator: ".", omittingEmptySubsequences: false)
      let common = zip(segments, others).prefix { $0 == $1 }.count
      let rest = others.dropFirst(common).joined(separator: ".")
      return find(segments.dropFirst(common).joined(separator: "."), in: [rest]) != nil
    }
    return near.min { $0.distance < $1.distance }?.name
  }

  /// The end of an error message about an unknown name: `; did you mean 'NAME'?` with the known name that is near.
  ///
  /// When none is near, `; ` and `otherwise`, or nothing without it. `write` puts a name as the user writes it, quoted by default.
  package static func hint(
    _ name: String, in known: some Sequence<String>, otherwise: @autoclosure () -> String? = nil,
    write: (String) -> String = { "'\($0)'" }
  ) -> String {
    hint(at: find(name, in: known).map(write), otherwise: otherwise())
  }

  /// The same for a near name that has been found, as the user writes it.
  package static func hint(at near: String?, otherwise: @autoclosure () -> String? = nil) -> String {
    (near.map { "did you mean \($0)?" } ?? otherwise()).map { "; \($0)" } ?? ""
  }

  /// The known names that are near, with their edits.
  private static func near(_ name: String, in known: some Sequence<String>) -> [(name: String, distance: Int)] {
    guard name.utf8.count <= 256 else { return [] }
    let wanted = Pattern(name.lowercased().unicodeScalars), length = wanted.scalars.count
    guard (1...64).contains(length) else { return [] }
    return known.compactMap { candidate in
      // A name has no more scalars than bytes.
      guard candidate.utf8.count >= length - max(1, length / 3), candidate.utf8.count <= 256 else { return nil }
      let letters = lettersOfASCII(candidate.utf8)
      let edits =
        if let letters {
          wanted.edits(
            to: candidate.utf8.lazy.map { Unicode.Scalar((65...90).contains($0) ? $0 | 0x20 : $0) },
            count: candidate.utf8.count, letters)
        } else { wanted.edits(to: candidate.lowercased().unicodeScalars) }
      return edits.map { (candidate, $0) }
    }
  }

  /// The letters of a text in ASCII, a bit for each one or two, in whatever case; nil for other texts.
  private static func lettersOfASCII(_ text: some Sequence<UInt8>) -> UInt64? {
    var letters: UInt64 = 0
    for byte in text {
      guard byte < 0x80 else { return nil }
      letters |= 1 << UInt64((byte | 0x20) & 0x3F)
    }
    return letters
  }

  /// A name of 1 to 64 scalars whose edits are counted.
  private struct Pattern {
    let scalars: [Unicode.Scalar]
    /// Where each scalar stands, a bit for each place.
    private var places: [Unicode.Scalar: UInt64] = [:]
    private var placesOfASCII = [UInt64](repeating: 0, count: 128)
    private let letters: UInt64?

    init(_ scalars: String.UnicodeScalarView) {
      self.scalars = Array(scalars)
      letters = lettersOfASCII(String(scalars).utf8)
      for (place, scalar) in scalars.enumerated() where place < 64 {
        if scalar.isASCII {
          placesOfASCII[Int(scalar.value)] |= 1 << place
        } else {
          places[scalar, default: 0] |= 1 << place
        }
      }
    }

    /// The edits to another name in lower case; nil where it is not near.
    func edits(to other: some Collection<Unicode.Scalar>) -> Int? {
      edits(to: other, count: other.count, letters ?? 0)
    }

    /// The same for a name of so many scalars with these letters: each that only one of the two has is an edit.
    func edits(to other: some Collection<Unicode.Scalar>, count: Int, _ others: UInt64) -> Int? {
      let length = scalars.count, bound = max(1, max(length, count) / 3)
      let own = letters ?? others, missing = (own & ~others).nonzeroBitCount
      guard count <= 64, missing <= bound, missing == 0 || (others & ~own).nonzeroBitCount <= bound else { return nil }
      let isBeginning = length > 1 && count >= length && other.starts(with: scalars)
      guard isBeginning || abs(count - length) <= bound else { return nil }
      let distance = isBeginning ? min(1, count - length) : distance(to: other)
      return distance <= bound && distance < max(length, count) ? distance : nil
    }

    /// The edits to another name, counted a column of their table at a time in the bits of a word.
    ///
    /// Source: Heikki Hyyrö, A bit-vector algorithm for computing Levenshtein and Damerau edit distances, 2003.
    private func distance(to other: some Sequence<Unicode.Scalar>) -> Int {
      // Where the column rises and falls, downwards and along; `same` is where it costs nothing to come from above on the left.
      var rises = UInt64.max, falls: UInt64 = 0, same: UInt64 = 0, before: UInt64 = 0
      var distance = scalars.count
      let last = UInt64(1) << (scalars.count - 1)
      for scalar in other {
        let equal = scalar.isASCII ? placesOfASCII[Int(scalar.value)] : places[scalar, default: 0]
        let swapped = (~same & equal) << 1 & before
        same = ((equal & rises) &+ rises) ^ rises | equal | falls | swapped
        var risesAlong = falls | ~(same | rises), fallsAlong = same & rises
        if risesAlong & last != 0 { distance += 1 } else if fallsAlong & last != 0 { distance -= 1 }
        risesAlong = risesAlong << 1 | 1
        fallsAlong <<= 1
        rises = fallsAlong | ~(same | risesAlong)
        falls = risesAlong & same
        before = equal
      }
      return distance
    }
  }
}

/// Whether two texts differ by one letter: added, left out, replaced, or swapped with its neighbour.
package func isOneEdit(_ left: String, _ right: String) -> Bool {
  abs(left.utf8.count - right.utf8.count) <= 1 && isOneEdit(Array(left.utf8), Array(right.utf8))
}

func isOneEdit(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  let shorter = min(one.count, other.count)
  guard max(one.count, other.count) <= shorter + 1 else { return false }
  var head = 0, tail = 0
  while head < shorter, one[head] == other[head] { head += 1 }
  while tail < shorter - head, one[one.count - 1 - tail] == other[other.count - 1 - tail] { tail += 1 }
  let left = one.count - head - tail, right = other.count - head - tail
  return max(left, right) == 1
    || left == 2 && right == 2 && one[head] == other[head + 1] && one[head + 1] == other[head]
}
