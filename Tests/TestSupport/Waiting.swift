import Glibc

/// Polls until the condition holds, and answers whether it did within three minutes, which only a hang takes, however busy the host is.
///
/// Within `#expect` or `#require` a failure shows what was waited for.
package func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + .seconds(180)
  while try !condition() {
    guard ContinuousClock.now < end else { return false }
    usleep(2000)
  }
  return true
}
