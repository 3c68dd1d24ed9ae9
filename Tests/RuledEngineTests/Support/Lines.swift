import RuledCore
import Synchronization

/// Keeps the lines of the log.
final class Lines: EventLog {
  private let written = Mutex<[String]>([])

  var all: [String] { written.withLock { $0 } }

  func write(_ line: LogLine) { written.withLock { $0.append(line.message) } }
}
