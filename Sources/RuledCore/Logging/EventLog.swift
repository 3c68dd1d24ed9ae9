/// Takes the lines of the log.
package protocol EventLog: AnyObject, Sendable {
  func write(_ line: LogLine)
  /// Writes one line that a stranger may cause as often as he likes, for this reason: a log that is limited leaves most of them out.
  func write(_ line: LogLine, limitedBy reason: String)
  /// How many lines were left out.
  var suppressed: Int { get }
}

extension EventLog {
  package func info(_ message: String) { write(LogLine(.info, message)) }
  package func warn(_ message: String) { write(LogLine(.warn, message)) }
  package func error(_ message: String) { write(LogLine(.error, message)) }

  package func write(_ line: LogLine, limitedBy reason: String) { write(line) }
  package var suppressed: Int { 0 }
}

/// A log that drops all lines.
package final class NoLog: EventLog {
  package init() {}
  package func write(_ line: LogLine) {}
}
