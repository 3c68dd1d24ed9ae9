internal import Glibc
package import RuledCore
internal import RuledJSON
internal import Synchronization

/// Writes log lines to standard error, one JSON object a line.
package final class StandardErrorLog: EventLog {
  private let buffer = Mutex<ByteBuffer>(ByteBuffer(capacity: 512))

  package init() {}

  package func write(_ line: LogLine) { _ = send(line) }

  /// Writes a line, when there is room for it; false if that is not possible.
  func send(_ line: LogLine) -> Bool {
    buffer.withLock { buffer in
      buffer.removeAll()
      var writer = JSONWriter(buffer)
      writer.beginObject()
      writer.member("time", line.time)
      writer.member("level", "\(line.level)")
      writer.member("message", line.message)
      if let plugin = line.plugin { writer.member("plugin", plugin) }
      if let rule = line.rule { writer.member("rule", rule) }
      if let event = line.event { writer.member("event_id", event) }
      if let subject = line.subjectHash { writer.member("subject_hash", subject) }
      if !line.fields.isEmpty {
        writer.member("fields")
        writer.raw(line.fields)
      }
      writer.endObject()
      return Self.write(buffer.text.withoutSteering + "\n", within: -1)
    }
  }

  /// Writes a text to standard error, and waits so many milliseconds for each page of room, or forever if negative; false if that fails.
  static func write(_ text: String, within milliseconds: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      var state = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
      guard SystemCalls.retrying({ poll(&state, 1, milliseconds) }).value == 1 else { return false }
      // Where there is room, this many bytes do not block.
      let written = rest.withUnsafeBytes { Glibc.write(2, $0.baseAddress, min($0.count, Int(PIPE_BUF))) }
      guard written >= 0 || errno == EINTR || errno == EAGAIN else { return false }
      rest = rest.dropFirst(max(written, 0))
    }
    return true
  }
}
