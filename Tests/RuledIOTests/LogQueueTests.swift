import Glibc
import RuledCore
import Synchronization
import TestSupport
import Testing

@testable import RuledIO

@Suite struct LogQueueTests {
  /// Takes lines while it reads, and refuses them while it is broken.
  private final class Reader: Sendable {
    private struct State {
      var lines: [String] = []
      var hasFirst = false
      var isReading = false
      var isBroken = false
    }

    private let state = Mutex(State())

    var lines: [String] { state.withLock { $0.lines } }
    /// Whether a line was ever offered.
    var hasFirst: Bool { state.withLock { $0.hasFirst } }

    func set(reading: Bool, broken: Bool = false) { state.withLock { ($0.isReading, $0.isBroken) = (reading, broken) } }

    func take(_ line: LogLine) -> Bool {
      state.withLock { $0.hasFirst = true }
      _ = eventually { state.withLock { $0.isReading } }
      return state.withLock {
        if !$0.isBroken { $0.lines.append(line.message) }
        return !$0.isBroken
      }
    }
  }

  private let reader = Reader()
  private let longest = 180_000

  @Test func `nobody waits for the reader, and the lines that are missing are counted in their place`() throws {
    let log = try LogQueue(reader.take)
    let text = String(repeating: "x", count: 10_000)
    log.write(LogLine(.info, "0"))
    #expect(eventually { reader.hasFirst })
    for number in 1..<1_000 { log.write(LogLine(.info, "\(number) \(text)")) }
    #expect(!log.flush(within: 1))
    let dropped = log.dropped
    #expect(dropped > 700)
    reader.set(reading: true)
    #expect(log.flush(within: longest))
    log.write(LogLine(.info, "later"))
    #expect(log.flush(within: longest))
    let kept = 1_000 - dropped
    #expect(reader.lines.prefix(kept).map { $0.split(separator: " ").first } == (0..<kept).map { "\($0)" })
    let end = reader.lines.dropFirst(kept)
    #expect(end.first?.hasPrefix("\(dropped) lines were dropped from ") == true && end.dropFirst() == ["later"])
  }

  @Test func `lines that can't be written count as missing`() throws {
    let log = try LogQueue(reader.take)
    reader.set(reading: true, broken: true)
    for number in 0..<2 {
      log.write(LogLine(.info, "lost \(number)"))
      #expect(log.flush(within: longest))
    }
    #expect(log.dropped == 2 && reader.lines.isEmpty)
    reader.set(reading: true)
    log.write(LogLine(.info, "kept"))
    #expect(log.flush(within: longest))
    #expect(reader.lines.count == 2 && reader.lines.first == "kept")
    #expect(reader.lines.last?.hasPrefix("2 lines were dropped from ") == true)
  }

  @Test func `lines for the search of faults are left out`() throws {
    let log = try LogQueue(reader.take)
    reader.set(reading: true)
    for level in [LogLine.Level.debug, .info, .warn, .error] { log.write(LogLine(level, "\(level)")) }
    #expect(log.flush(within: longest))
    #expect(reader.lines == ["info", "warn", "error"])
  }
}
