import RuledCore

/// Server-sent events for one watcher, confined to the server's thread; its connection takes them as its client does.
final class EventStream {
  private static let bufferBytes = 64 << 10

  private let hub: WatchHub
  private var cursor: WatchCursor
  private let wake: @Sendable () -> Void
  private var isBegun = false
  /// Keeps the key apart from those of the workers.
  private let key: UInt64
  /// Whether a comment is due, so that a client that is gone is noticed.
  var beats = false

  /// A stream from the cursor on, which calls `wake`, on any thread, when there is more after `write` wrote nothing.
  init(_ cursor: WatchCursor, hub: WatchHub, connection: UInt64, wake: @escaping @Sendable () -> Void) {
    self.cursor = cursor
    self.hub = hub
    self.wake = wake
    key = connection | 1 << 63
  }

  /// No longer waits for changes.
  func close() { hub.cancel(key) }

  /// Appends what there is to tell, a part of it where that is much.
  func write(to output: ByteBuffer) {
    let start = output.count
    if !isBegun { output.append(": watching\n\n" as StaticString) }
    isBegun = true
    if beats { output.append(":\n\n" as StaticString) }
    beats = false
    repeat {
      tell(output)
    } while output.count == start && !hub.wake(key, after: cursor.after, wake)
  }

  private func tell(_ output: ByteBuffer) {
    let before = cursor
    _ = cursor.read(hub, while: { output.count < Self.bufferBytes }) { news in
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
