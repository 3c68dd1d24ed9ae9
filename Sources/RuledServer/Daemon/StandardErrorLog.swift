import Glibc
import RuledCore
package import RuledEngine
import Synchronization

/// Writes log lines to standard error, one JSON object a line.
package final class StandardErrorLog: EventLog {
  private let least: LogLine.Level
  private let buffer = Mutex<ByteBuffer>(ByteBuffer(capacity: 512))

  /// A log of the lines with the level `least` or a higher one.
  package init(least: LogLine.Level = .info) { self.least = least }

  package func write(_ line: LogLine) {
    guard line.level.rawValue >= least.rawValue else { return }
    let time = EngineClock.wall
    buffer.withLock { buffer in
      buffer.removeAll()
      buffer.append("{\"time\":\"" as StaticString)
      time.write(to: buffer)
      buffer.append("\",\"level\":\"" as StaticString)
      buffer.append(contentsOf: "\(line.level)")
      buffer.append("\",\"message\":" as StaticString)
      buffer.append(jsonString: line.message)
      Self.append("plugin", line.plugin, to: buffer)
      Self.append("rule", line.rule, to: buffer)
      Self.append("event_id", line.event, to: buffer)
      Self.append("subject_hash", line.subjectHash, to: buffer)
      if !line.fields.isEmpty {
        buffer.append(",\"fields\":" as StaticString)
        buffer.append(contentsOf: line.fields)
      }
      buffer.append("}\n" as StaticString)
      _ = Glibc.write(2, buffer.bytes.baseAddress, buffer.count)
    }
  }

  private static func append(_ name: StaticString, _ value: String?, to buffer: ByteBuffer) {
    guard let value else { return }
    buffer.append(",\"" as StaticString)
    buffer.append(name)
    buffer.append("\":" as StaticString)
    buffer.append(jsonString: value)
  }
}
