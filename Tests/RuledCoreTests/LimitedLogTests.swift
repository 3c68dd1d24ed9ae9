import Synchronization
import Testing

@testable import RuledCore

/// Lines that strangers may cause.
@Suite struct LimitedLogTests {
  private final class Lines: EventLog {
    private let written = Mutex<[String]>([])

    var texts: [String] { written.withLock { $0 } }

    func write(_ line: LogLine) { written.withLock { $0.append(line.message) } }
  }

  private final class Clock: Sendable {
    private let time = Atomic(5)

    var now: Int { time.load(ordering: .relaxed) }

    func advance(_ milliseconds: Int) { time.wrappingAdd(milliseconds, ordering: .relaxed) }
  }

  private let lines = Lines()
  private let clock = Clock()
  private let log: LimitedLog

  init() { log = LimitedLog(lines) { [clock] in clock.now } }

  @Test func `a reason has one line a minute, which says how many were left out before it`() {
    for _ in 0..<1_000 { log.write(LogLine(.warn, "refused"), limitedBy: "x") }
    log.write(LogLine(.warn, "another"), limitedBy: "y")
    for _ in 0..<2 { log.write(LogLine(.warn, "free")) }
    #expect(lines.texts == ["refused", "another", "free", "free"])
    #expect(log.suppressed == 999)
    clock.advance(LimitedLog.interval)
    log.write(LogLine(.warn, "refused"), limitedBy: "x")
    log.write(LogLine(.warn, "another"), limitedBy: "y")
    #expect(lines.texts.suffix(2) == ["refused; 999 such lines before it were left out", "another"])
  }

  @Test func `a stranger who finds ever new reasons writes no more than there are limits`() {
    for number in 0..<10_000 { log.write(LogLine(.warn, "\(number)"), limitedBy: "\(number)") }
    #expect(lines.texts.count == LimitedLog.most + 1)
    #expect(log.suppressed == 10_000 - LimitedLog.most - 1)
    clock.advance(LimitedLog.interval)
    log.write(LogLine(.warn, "new"), limitedBy: "new")
    #expect(lines.texts.last == "new")
  }
}
