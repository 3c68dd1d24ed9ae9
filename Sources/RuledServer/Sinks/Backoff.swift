/// How long to wait before a failed delivery is tried again, in milliseconds.
struct Backoff: Sendable {
  /// The wait after the first failure.
  var first: UInt64 = 1_000
  /// The longest wait.
  var longest: UInt64 = 300_000

  /// The wait after so many failures: doubled each time, and up to a quarter longer, so that many do not come at once.
  func delay(after failures: Int) -> UInt64 {
    let doubled = first << UInt64(min(max(failures - 1, 0), 20))
    let base = min(doubled, longest)
    return min(base + .random(in: 0...base / 4), longest)
  }
}
