import Synchronization

/// What one worker counts for the metrics; only it writes.
final class WorkerFigures: Sendable {
  /// Events that clients sent to its subjects.
  let events = Atomic<Int>(0)
  /// Its subjects in the cache.
  let hotSubjects = Atomic<Int>(0)
  /// The bytes that they take there.
  let hotBytes = Atomic<Int>(0)
}
