internal import CSystemd
internal import Glibc
import RuledCore

/// Writes log lines to systemd's journal as entries with fields, so that `journalctl` selects by them.
///
/// | field | |
/// | --- | --- |
/// | `MESSAGE`, `PRIORITY`, `SYSLOG_IDENTIFIER` | the message; 7 debug, 6 info, 4 warn, 3 error; `ruled` |
/// | `PLUGIN`, `RULED_PLUGIN` | the plugin |
/// | `RULE`, `RULED_RULE` | the rule |
/// | `EVENT_ID`, `RULED_EVENT` | the event's id |
/// | `SUBJECT_HASH` | a hash of the subject's name |
/// | `RULED_FIELDS` | further members, a JSON object |
enum JournalLog {
  /// Whether standard error leads to the journal.
  static var isInUse: Bool { isJournal(2, getenv("JOURNAL_STREAM").map { String(cString: $0) }) }

  /// Whether a descriptor is the stream to the journal that systemd set up, whose device and inode stand in JOURNAL_STREAM.
  static func isJournal(_ descriptor: Int32, _ stream: String?) -> Bool {
    var status = stat()
    guard let stream, fstat(descriptor, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }

  /// Sends a line as one entry, when there is room for it; false if the journal can't take it.
  static func send(_ line: LogLine) -> Bool { send(fields(of: line)) >= 0 }

  /// The fields of a line, each as `NAME=value`.
  static func fields(of line: LogLine) -> [String] {
    let priority =
      switch line.level {
      case .debug: LOG_DEBUG
      case .info: LOG_INFO
      case .warn: LOG_WARNING
      case .error: LOG_ERR
      }
    var fields = ["MESSAGE=\(line.message.withoutSteering)", "PRIORITY=\(priority)", "SYSLOG_IDENTIFIER=ruled"]
    func add(_ names: String..., value: String?) {
      guard let value else { return }
      for name in names { fields.append("\(name)=\(value.withoutSteering)") }
    }
    add("PLUGIN", "RULED_PLUGIN", value: line.plugin)
    add("RULE", "RULED_RULE", value: line.rule)
    add("EVENT_ID", "RULED_EVENT", value: line.event)
    add("SUBJECT_HASH", value: line.subjectHash)
    add("RULED_FIELDS", value: line.fields.isEmpty ? nil : line.fields)
    return fields
  }

  /// Sends one entry; negative if the journal can't take it: sd_journal_sendv(3).
  private static func send(_ fields: [String]) -> Int32 {
    let buffer = ByteBuffer(capacity: 1024)
    for field in fields { buffer.append(contentsOf: field) }
    defer { withExtendedLifetime(buffer) {} }
    var next = UnsafeMutableRawPointer(mutating: buffer.bytes.baseAddress)
    let vectors = fields.map { field in
      defer { next = next.map { $0 + field.utf8.count } }
      return iovec(iov_base: next, iov_len: field.utf8.count)
    }
    return vectors.withUnsafeBufferPointer { sd_journal_sendv($0.baseAddress, Int32($0.count)) }
  }
}
