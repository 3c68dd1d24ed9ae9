import RuledCore

/// Server-sent events for one client that watches, on their way to its socket; confined to the server's thread.
final class EventStream {
  /// The most unsent bytes; beyond that, the watch waits, too.
  private static let limit = 64 << 10

  /// The events that the connection has not taken yet.
  private var events = ByteBuffer(capacity: 1024)

  /// A stream without events.
  ///
  /// It begins with a comment. No empty line follows a comment: common clients take one for the end of an event that has only the last id.
  init() { events.append(": watching\n" as StaticString) }

  var hasRoom: Bool { events.count < Self.limit }

  func add(_ news: WatchNews, of watch: Int64) {
    switch news {
    case .lagged: events.append("event: lagged\n" as StaticString)
    case .changed(let sequence, _):
      events.append("event: changed\nid: " as StaticString)
      events.append(decimal: Int64(truncatingIfNeeded: sequence))
      events.append(UInt8(ascii: "\n"))
    }
    events.append("data: " as StaticString)
    news.write(to: events, of: watch)
    events.append("\n\n" as StaticString)
  }

  /// Adds a comment, which shows both sides that the connection works, unless events wait.
  func addHeartbeat() { if events.count == 0 { events.append(":\n" as StaticString) } }

  /// Returns the events so far, if there are any, and begins anew.
  func take() -> ByteBuffer? {
    guard events.count > 0 else { return nil }
    defer { events = ByteBuffer(capacity: 1024) }
    return events
  }
}
