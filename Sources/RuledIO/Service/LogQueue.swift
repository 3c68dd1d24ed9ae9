internal import Glibc
package import RuledCore
internal import RuledThreads

/// The log of a service: a thread of its own writes the lines in their order, so that no other thread waits for the reader.
///
/// A line for which there is no room is dropped. The next line that can be written after it says how many were, and `dropped` counts them. A
/// process that crashes loses the lines that wait.
package final class LogQueue: EventLog {
  /// The bytes that may wait; as many may be with the thread, on their way out.
  static let capacity = 1 << 20

  /// Lines that are missing.
  private struct Gap {
    var count = 0
    /// When the first of them came.
    var start: Timestamp?

    mutating func add(_ count: Int, from start: Timestamp?) {
      self.count += count
      self.start = self.start ?? start
    }
  }

  private let condition = Condition()
  private nonisolated(unsafe) var waiting: [LogLine] = []  // guarded by `condition`, as all below
  private nonisolated(unsafe) var bytes = 0
  /// The lines that were dropped after those that wait.
  private nonisolated(unsafe) var gap = Gap()
  private nonisolated(unsafe) var droppedCount = 0
  /// How many lines were not dropped, and how many of these the thread is done with.
  private nonisolated(unsafe) var acceptedCount = 0
  private nonisolated(unsafe) var doneCount = 0

  /// A log whose thread calls `output` with each line, which returns whether it could be written.
  init(_ output: @escaping @Sendable (LogLine) -> Bool) throws(SystemError) {
    _ = try Thread.start(name: "ruled-log") { self.run(output) }
  }

  /// The log of this process: systemd's journal if that reads standard error, with a limit on lines that clients may cause.
  package static func ofService() throws(StartError) -> any EventLog {
    // Otherwise a file of the store could get the number of a closed standard error, and the lines.
    if fcntl(2, F_GETFD) < 0 { dup2(open("/dev/null", O_WRONLY), 2) }
    let standardError = StandardErrorLog()
    let hasJournal = JournalLog.isInUse
    do throws(SystemError) {
      return LimitedLog(try LogQueue { hasJournal && JournalLog.send($0) || standardError.send($0) })
    } catch { throw StartError("the log can't be written: \(error)") }
  }

  package func write(_ line: LogLine) {
    guard line.level != .debug else { return }
    condition.signal {
      guard bytes < Self.capacity else {
        droppedCount += 1
        return gap.add(1, from: line.time)
      }
      waiting.append(line)
      bytes += MemoryLayout<LogLine>.stride + line.message.utf8.count + line.fields.utf8.count
      acceptedCount += 1
    }
  }

  package var dropped: Int { condition.locked { droppedCount } }

  package func flush(within milliseconds: Int) -> Bool {
    let last = condition.locked { acceptedCount }
    return condition.wait(milliseconds: milliseconds) { doneCount >= last ? () : nil } != nil
  }

  private func run(_ output: (LogLine) -> Bool) {
    var lines: [LogLine] = []
    var missing = Gap()
    while true {
      let later = condition.wait { () -> Gap? in
        guard !waiting.isEmpty else { return nil }
        swap(&lines, &waiting)
        bytes = 0
        defer { gap = Gap() }
        return gap
      }
      let failed = lines.filter { !output($0) }
      missing.add(failed.count, from: failed.first?.time)
      missing.add(later.count, from: later.start)
      if let start = missing.start {
        let text = "\(missing.count) lines were dropped from \(start.rfc3339) on, as the log could not be written"
        if output(LogLine(.warn, text)) { missing = Gap() }
      }
      condition.signal {
        droppedCount += failed.count
        doneCount += lines.count
      }
      lines.removeAll(keepingCapacity: true)
    }
  }
}
