/// The bounds of one connection.
package struct ConnectionLimits: Sendable {
  /// The longest line in bytes, without its newline.
  package var lineBytes = 1 << 20
  /// Unsent output in bytes above which nothing more is read; reading goes on below half of it.
  package var unsentBytes = 1 << 20
  /// Requests in flight at which nothing more is read; reading goes on below half of it.
  package var requestsInFlight = 4096
  /// How long unsent output may make no progress before the connection is closed, in milliseconds.
  package var stallMilliseconds: UInt64 = 60_000

  /// The defaults.
  package init() {}
}
