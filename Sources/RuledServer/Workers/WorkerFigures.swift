import Synchronization

/// What one worker counts for the metrics; only it writes.
final class WorkerFigures: Sendable {
  /// Events that clients sent to its subjects.
  let events = Atomic<Int>(0)
  /// Its subjects in the cache.
  let hotSubjects = Atomic<Int>(0)
  /// The bytes that they take there.
  let hotBytes = Atomic<Int>(0)
  /// Subjects whose messages can't be applied for now.
  let heldSubjects = Atomic<Int>(0)
  /// Whether messages can't be read from the store for now.
  let failsToRead = Atomic<Bool>(false)
}
