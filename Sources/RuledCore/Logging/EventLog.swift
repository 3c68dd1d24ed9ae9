/// Takes the lines of the log.
package protocol EventLog: AnyObject, Sendable {
  func write(_ line: LogLine)
  /// Writes a line that clients may cause as often as they like, for this reason; a limited log leaves most such lines out.
  func write(_ line: LogLine, limitedBy reason: String)
  /// How many lines were left out.
  var suppressed: Int { get }
  /// How many lines are lost, since they could not be written.
  var dropped: Int { get }
  /// Waits for the lines before this to be written; false if that takes longer.
  func flush(within milliseconds: Int) -> Bool
}

extension EventLog {
  package func info(_ message: String) { write(LogLine(.info, message)) }
  package func warn(_ message: String) { write(LogLine(.warn, message)) }
  package func error(_ message: String) { write(LogLine(.error, message)) }

  package func write(_ line: LogLine, limitedBy reason: String) { write(line) }
  package var suppressed: Int { 0 }
  package var dropped: Int { 0 }
  package func flush(within milliseconds: Int) -> Bool { true }

  /// Lets the lines out before the process ends, for two seconds at most.
  package func end() { _ = flush(within: 2_000) }
}

package final class NoLog: EventLog {
  package init() {}
  package func write(_ line: LogLine) {}
}
