import RuledCore
import Synchronization

/// A log that keeps its lines.
final class RecordingLog: EventLog {
  private let kept = Mutex<[LogLine]>([])

  func write(_ line: LogLine) { kept.withLock { $0.append(line) } }

  /// The lines so far.
  var lines: [LogLine] { kept.withLock { $0 } }

  /// All that was written, as text.
  var text: String { lines.map { "\($0)" }.joined(separator: "\n") }
}
