import RuledCore

/// The body of the response to a client that watches: server-sent events, in chunks unless the client speaks HTTP/1.0; confined to the server's
/// thread.
///
/// It takes a watch's news and keeps them until the connection asks for the next chunk. Both refer to each other until the connection closes.
final class EventStream: WatchReceiver {
  /// The most bytes of events that wait; beyond that, the watch waits, too.
  private static let mostBytes = 64 << 10

  private let connection: HTTPConnection
  private let isChunked: Bool
  /// Whether the client may still watch: its token or session may end meanwhile.
  let isAllowed: () -> Bool
  /// The events that the connection has not taken yet.
  private var events = ByteBuffer(capacity: 1024)

  init(on connection: HTTPConnection, isChunked: Bool, while isAllowed: @escaping () -> Bool) {
    self.connection = connection
    self.isChunked = isChunked
    self.isAllowed = isAllowed
    // No empty line follows the comment: common clients take one for the end of an event that has only the last id.
    events.append(": watching\n" as StaticString)
  }

  // MARK: News

  var hasRoom: Bool { events.count < Self.mostBytes }

  var isTaking: Bool { connection.unsentCount == 0 }

  func addNews(_ news: WatchNews, of watch: Int64) {
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

  func endNews() { connection.sendEvents() }

  /// Adds a comment unless events wait, so that both sides notice a broken connection.
  func addHeartbeat() { if events.count == 0 { events.append(":\n" as StaticString) } }

  // MARK: The response

  func writeHead(_ options: HTTPResponse.Options, to output: ByteBuffer) {
    HTTPResponse(200, type: "text/event-stream", []).writeHead(options, to: output)
    output.append((isChunked ? "transfer-encoding: chunked\r\n\r\n" : "\r\n") as StaticString)
  }

  /// Moves the events so far into the output; false if there are none.
  func writeChunk(to output: ByteBuffer) -> Bool {
    guard events.count > 0 else { return false }
    if isChunked { output.append(contentsOf: String(events.count, radix: 16) + "\r\n") }
    output.append(events)
    if isChunked { output.append("\r\n" as StaticString) }
    events = ByteBuffer(capacity: 1024)
    return true
  }

  func writeEnd(to output: ByteBuffer) { if isChunked { output.append("0\r\n\r\n" as StaticString) } }
}
