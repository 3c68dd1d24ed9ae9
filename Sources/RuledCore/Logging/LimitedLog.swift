import Synchronization

/// A log that writes at most one line a minute for each reason, of the lines that come with one.
package final class LimitedLog: EventLog {
  /// For how long no other line is written for a reason, in milliseconds.
  static let interval = 60_000
  /// How many reasons are told apart; further ones share a limit.
  static let most = 256

  private struct Limit {
    var written: Int
    var suppressed = 0
  }

  private struct State {
    var limits: [String: Limit] = [:]
    var suppressed = 0
  }

  private let log: any EventLog
  private let now: @Sendable () -> Int
  private let state = Mutex(State())

  /// A limit for the lines of `log`; `now` is a steady time in milliseconds.
  package init(_ log: any EventLog, now: @escaping @Sendable () -> Int = { MonotonicClock.milliseconds }) {
    self.log = log
    self.now = now
  }

  package func write(_ line: LogLine) { log.write(line) }

  /// Writes the line, with the number of those that were left out before it, unless another one was written within the last minute.
  package func write(_ line: LogLine, limitedBy reason: String) {
    guard let suppressed = pass(reason) else { return }
    var line = line
    if suppressed > 0 { line.message += "; \(suppressed) such lines before it were left out" }
    log.write(line)
  }

  package var suppressed: Int { state.withLock { $0.suppressed } }

  package var dropped: Int { log.dropped }

  package func flush(within milliseconds: Int) -> Bool { log.flush(within: milliseconds) }

  /// The number of lines that were left out since the last one for a reason; nil if this one is to be left out too.
  private func pass(_ reason: String) -> Int? {
    let now = now()
    return state.withLock { state in
      if state.limits[reason] == nil, state.limits.count >= Self.most {
        state.limits = state.limits.filter { now - $0.value.written < Self.interval }
      }
      let key = state.limits[reason] == nil && state.limits.count >= Self.most ? "" : reason
      if let limit = state.limits[key], now - limit.written < Self.interval {
        state.limits[key]?.suppressed += 1
        state.suppressed += 1
        return nil
      }
      return state.limits.updateValue(Limit(written: now), forKey: key)?.suppressed ?? 0
    }
  }
}
