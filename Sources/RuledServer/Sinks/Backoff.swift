/// The delay before a failed operation is tried again, in milliseconds: doubled after each failure, with jitter.
struct Backoff: Sendable {
  /// The longest delay after the first failure.
  var first: UInt64 = 1_000
  /// The longest delay after any failure.
  var longest: UInt64 = 300_000

  /// The delay after so many failures in a row.
  ///
  /// It is up to a quarter shorter than the doubled one, so that operations that failed together are not tried together.
  func delay(after failures: Int) -> UInt64 {
    let doubled = first << UInt64(min(max(failures - 1, 0), 20))
    let delay = min(doubled, longest)
    return delay - .random(in: 0...delay / 4)
  }
}
