/// The growing delay before something that failed is tried again, in milliseconds.
///
/// The delay doubles with each failure, and is up to a quarter shorter at random, so that operations that failed together are not tried again
/// together. So is the longest delay.
package struct Backoff: Sendable, Equatable {
  /// The longest delay after the first failure.
  package var first: UInt64
  /// The longest delay after any failure.
  package var longest: UInt64

  /// A delay that grows from `first` to `longest` milliseconds; without them from a second to five minutes.
  package init(first: UInt64 = 1_000, longest: UInt64 = 300_000) {
    self.first = first
    self.longest = longest
  }

  /// The delay after so many failures in a row, 1 or more.
  package func delay(after failures: Int) -> UInt64 {
    let doublings = UInt64(clamping: min(max(failures - 1, 0), 20))
    let delay = min(first << doublings, longest)
    return delay - .random(in: 0...delay / 4)
  }
}
