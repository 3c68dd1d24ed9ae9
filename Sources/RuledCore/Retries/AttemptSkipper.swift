/// Skips attempts at something that pays only at times: the more attempts in a row were in vain, the more of the next ones are skipped.
package struct AttemptSkipper: Sendable {
  private let fewest: Int
  private let most: Int
  private var skips = 0
  private var remaining = 0

  /// Skips `fewest` attempts after a fruitless one, and twice as many after each further one, up to `most`.
  package init(fewest: Int, most: Int) {
    self.fewest = fewest
    self.most = most
  }

  /// Whether to make the next attempt; each call counts as one, made or skipped.
  package mutating func shouldTry() -> Bool {
    if remaining > 0 { remaining -= 1 }
    return remaining == 0
  }

  /// Notes that the attempt paid: half as many are skipped from now on.
  package mutating func noteSuccess() { skips /= 2 }

  package mutating func noteFailure() {
    skips = min(max(skips * 2, fewest), most)
    remaining = skips
  }
}
