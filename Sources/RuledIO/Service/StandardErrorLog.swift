internal import Glibc
package import RuledCore
internal import RuledJSON
internal import Synchronization

/// Writes log lines to standard error, one JSON object a line.
package final class StandardErrorLog: EventLog {
  private let least: LogLine.Level
  private let buffer = Mutex<ByteBuffer>(ByteBuffer(capacity: 512))

  /// A log of the lines with the level `least` or a higher one.
  package init(least: LogLine.Level = .info) { self.least = least }

  package func write(_ line: LogLine) {
    guard line.level.rawValue >= least.rawValue else { return }
    let time = Timestamp.wall
    buffer.withLock { buffer in
      buffer.removeAll()
      var writer = JSONWriter(buffer)
      writer.beginObject()
      writer.member("time", time)
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
      let text = Array((buffer.text.withoutSteering + "\n").utf8)
      _ = Glibc.write(2, text, text.count)
    }
  }
}

extension StandardErrorLog {
  /// The log of a service: systemd's journal if that reads standard error, with a limit on lines that clients may cause.
  package static func ofService() -> any EventLog { LimitedLog(JournalLog() ?? StandardErrorLog()) }
}
