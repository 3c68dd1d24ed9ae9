import RuledCore

/// Server-sent events for one client that watches; confined to the server's thread.
///
/// The stream reads changes as fast as its client takes them.
final class EventStream {
  /// How many bytes are written at a time.
  private static let chunkBytes = 64 << 10

  private let hub: WatchHub
  private var cursor: WatchCursor
  private let notify: @Sendable () -> Void
  private var hasBegun = false
  /// The key of the stream among those that wait at the hub; the high bit sets it apart from the keys of the workers.
  private let key: UInt64
  /// Whether the next `write` begins with a comment.
  var heartbeatIsDue = false

  /// A stream from the cursor on; after a `write` that wrote nothing, `notify` is called on any thread once there is more.
  init(_ cursor: WatchCursor, hub: WatchHub, connection: UInt64, notify: @escaping @Sendable () -> Void) {
    self.cursor = cursor
    self.hub = hub
    self.notify = notify
    key = connection | 1 << 63
  }

  /// Stops waiting for changes.
  func close() { hub.cancel(key) }

  /// Appends the next events, about 64 KiB at most.
  func write(to output: ByteBuffer) {
    let start = output.count
    // No empty line after a comment: common clients take one for the end of an event that has only the last id.
    if !hasBegun { output.append(": watching\n" as StaticString) }
    hasBegun = true
    if heartbeatIsDue { output.append(":\n" as StaticString) }
    heartbeatIsDue = false
    repeat {
      writeChanges(to: output)
    } while output.count == start && !hub.wake(key, after: cursor.after, notify)
  }

  private func writeChanges(to output: ByteBuffer) {
    let before = cursor
    _ = cursor.read(hub, while: { output.count < Self.chunkBytes }) { news in
      switch news {
      case .lagged: output.append("event: lagged\n" as StaticString)
      case .changed(let sequence, _):
        output.append("event: changed\nid: " as StaticString)
        output.append(decimal: Int64(truncatingIfNeeded: sequence))
        output.append(UInt8(ascii: "\n"))
      }
      output.append("data: " as StaticString)
      before.write(news, to: output)
      output.append("\n\n" as StaticString)
    }
  }
}
