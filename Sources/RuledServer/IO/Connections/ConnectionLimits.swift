internal import Synchronization

/// The memory that the connections of all loops share for lines that are not whole.
///
/// It counts what buffers have beyond the first read, so that short lines never wait for it.
package final class LineMemory: Sendable {
  private let held = Atomic<Int>(0)
  private let most: Int

  /// Room for `most` bytes.
  package init(_ most: Int) { self.most = most }

  /// How many bytes are taken.
  package var heldBytes: Int { held.load(ordering: .relaxed) }

  /// Takes `count` bytes; false when there are not so many left.
  func take(_ count: Int) -> Bool {
    if held.wrappingAdd(count, ordering: .relaxed).newValue <= most { return true }
    giveBack(count)
    return false
  }

  /// Gives bytes back.
  func giveBack(_ count: Int) { held.wrappingSubtract(count, ordering: .relaxed) }
}

/// The bounds of one connection.
package struct ConnectionLimits: Sendable {
  /// The longest line in bytes, without its newline.
  package var lineBytes = 1 << 20
  /// Unsent output in bytes above which nothing more is read; reading goes on below half of it.
  package var unsentBytes = 1 << 20
  /// Requests in flight at which nothing more is read; reading goes on below half of it.
  package var requestsInFlight = 4096
  /// What it shares with all connections for long lines.
  package var lineMemory = LineMemory(64 << 20)
  /// How long unsent output, or a long line, may make no progress before the connection is closed, in milliseconds.
  package var stallMilliseconds: UInt64 = 60_000

  /// The defaults.
  package init() {}
}
