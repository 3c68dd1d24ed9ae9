import Synchronization

/// What the timers' service counts for the metrics.
final class TimerFigures: Sendable {
  /// How many timers were due and given to their workers.
  let fired = Atomic<Int>(0)
  /// How many timers can't fire at present.
  let retried = Atomic<Int>(0)
  /// When the first timer that is set is due, in microseconds; `.max` when none is.
  let earliest = Atomic<Int64>(.max)
}
