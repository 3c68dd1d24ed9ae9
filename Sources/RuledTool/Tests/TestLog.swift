internal import RuledCore
internal import Synchronization

/// Keeps the log lines of rules in a test, to be shown beside its failure.
final class TestLog: EventLog {
  private static let most = 200

  private let written = Mutex<[String]>([])

  /// Takes a line; those on failures are left out, as a failure is shown by itself.
  func write(_ line: LogLine) {
    guard !line.message.hasPrefix("a rule failed: ") else { return }
    var text = "\(line.level) \(line.plugin ?? "")"
    if let rule = line.rule { text += "/\(rule)" }
    text += ": \(line.message)"
    if !line.fields.isEmpty { text += " \(line.fields)" }
    written.withLock { lines in if lines.count < Self.most { lines.append(text) } }
  }

  func take() -> [String] {
    written.withLock { lines in
      defer { lines.removeAll() }
      return lines
    }
  }
}
