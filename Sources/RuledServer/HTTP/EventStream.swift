import CMicroHTTPD
import RuledCore
import Synchronization

/// Server-sent events for one watcher; the server's thread pulls them as the connection takes them.
final class EventStream: @unchecked Sendable {  // what is not atomic belongs to the server's thread
  private static let bufferBytes = 64 << 10

  private let hub: WatchHub
  private let exchange: HTTPExchange
  private var cursor: WatchCursor
  private let output = ByteBuffer(capacity: 1024)
  private var sent = 0
  private let beats = Atomic(false)
  private let ends = Atomic(false)
  /// Keeps the key apart from those of the workers.
  private var key: UInt64 { exchange.token | 1 << 63 }

  /// A stream from the cursor on.
  init(_ cursor: WatchCursor, hub: WatchHub, exchange: HTTPExchange) {
    self.cursor = cursor
    self.hub = hub
    self.exchange = exchange
    output.append(": watching\n\n" as StaticString)
  }

  /// Writes a comment, so that a client that is gone is noticed.
  func beat() {
    beats.store(true, ordering: .relaxed)
    exchange.resume()
  }

  /// Ends the stream.
  func end() {
    ends.store(true, ordering: .relaxed)
    exchange.resume()
  }

  /// No longer waits for changes.
  func close() { hub.cancel(key) }

  /// Moves what there is into `space`; suspends the connection when there is nothing.
  func read(into space: UnsafeMutableRawBufferPointer) -> Int {
    if ends.load(ordering: .relaxed) { return ruled_http_end }
    if sent == output.count { fill() }
    let count = min(space.count, output.count - sent)
    guard count > 0 else {
      wait()
      return 0
    }
    space.copyMemory(from: UnsafeRawBufferPointer(rebasing: output.bytes[sent..<sent + count]))
    sent += count
    return count
  }

  private func fill() {
    output.removeAll()
    sent = 0
    if beats.exchange(false, ordering: .relaxed) { output.append(":\n\n" as StaticString) }
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

  private func wait() {
    exchange.suspend()
    let exchange = exchange
    let waits = hub.wake(key, after: cursor.after) { exchange.resume() }
    if !waits || ends.load(ordering: .relaxed) || beats.load(ordering: .relaxed) { exchange.resume() }
  }
}
