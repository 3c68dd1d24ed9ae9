import RuledEngine
import Synchronization

/// What one worker has counted of a rollout, for other threads to read.
final class RolloutFigures: Sendable {
  private let liveEvents = Atomic<Int>(0)
  private let liveFailures = Atomic<Int>(0)
  private let candidateEvents = Atomic<Int>(0)
  private let candidateFailures = Atomic<Int>(0)
  private let candidateSubjects = Atomic<Int>(0)

  /// Shows what was counted so far.
  func publish(_ live: RolloutTally, _ candidate: RolloutTally) {
    liveEvents.store(live.events, ordering: .relaxed)
    liveFailures.store(live.failures, ordering: .relaxed)
    candidateEvents.store(candidate.events, ordering: .relaxed)
    candidateFailures.store(candidate.failures, ordering: .relaxed)
    candidateSubjects.store(candidate.subjects, ordering: .relaxed)
  }

  /// The counts.
  var counts: RolloutCounts {
    RolloutCounts(
      liveEvents: liveEvents.load(ordering: .relaxed), liveFailures: liveFailures.load(ordering: .relaxed),
      events: candidateEvents.load(ordering: .relaxed), failures: candidateFailures.load(ordering: .relaxed),
      subjects: candidateSubjects.load(ordering: .relaxed))
  }
}

/// What both sides of a rollout decided, over all workers.
struct RolloutCounts: Sendable, Equatable {
  /// How many events the live rules decided.
  var liveEvents = 0
  /// How many of them a plugin failed on.
  var liveFailures = 0
  /// How many events the candidate decided.
  var events = 0
  /// How many of them a plugin failed on.
  var failures = 0
  /// How many subjects had events that the candidate decided.
  var subjects = 0

  /// Adds those of another worker.
  mutating func add(_ other: RolloutCounts) {
    liveEvents += other.liveEvents
    liveFailures += other.liveFailures
    events += other.events
    failures += other.failures
    subjects += other.subjects
  }
}

extension Services {
  /// What all workers have counted of the last rollout since it or the daemon began.
  var rolloutCounts: RolloutCounts {
    figures.reduce(into: RolloutCounts()) { $0.add($1.rollout.counts) }
  }
}
