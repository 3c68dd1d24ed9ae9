import RuledCore
import RuledEngine

/// The end of a node that follows, which a signal asks for.
extension StandbyServer {
  /// How long the node takes to end at most, in nanoseconds.
  private static let longestEnd = UInt64(Limits.shutdownTime - 1_000_000) * 1_000

  /// Takes no new clients, answers what has been received, and then stops.
  func drain() {
    guard endsAt == nil else { return }
    endsAt = EngineClock.monotonic + Self.longestEnd
    membership.log.write(LogLine(.info, "ending: what has been received is answered first"))
    for listener in listeners { listener.stop() }
    listeners = []
    table.drain()
    do throws(SystemError) {
      try loop.timer(after: Self.drainPeriod, every: Self.drainPeriod) { [unowned self] in stopIfDrained() }
    } catch { stop() }
  }

  /// How often a node that ends looks whether all is done, in milliseconds.
  private static let drainPeriod: UInt64 = 5

  private func stopIfDrained() {
    guard let endsAt else { return }
    let isDone = table.count == 0 && leaving.isEmpty
    if isDone || EngineClock.monotonic >= endsAt { stop() }
  }
}
