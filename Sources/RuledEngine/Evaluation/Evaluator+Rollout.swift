/// Rules that are tried for real on a share of the subjects, on one worker.
struct Rollout {
  /// The subjects that get them.
  var share: SubjectShare
  /// Evaluates the events of these subjects, with the cache, the batch and the remembered outcomes of the live evaluator.
  let candidate: Evaluator
}

/// What one worker counts of a side of a rollout; confined to its thread.
package final class RolloutTally {
  /// How many events the side has decided, dry runs and repeats left out.
  package private(set) var events = 0
  /// How many of them a plugin failed on.
  package private(set) var failures = 0
  /// How many subjects had such events: exact up to `mostSubjects`, where it stays.
  package var subjects: Int { seen.count }
  private var seen: Set<UInt64> = []
  private let countsSubjects: Bool

  /// How many subjects a worker counts, which takes 16 MiB at most.
  package static let mostSubjects = 500_000

  init(countsSubjects: Bool) { self.countsSubjects = countsSubjects }

  /// Counts an event of the subject with that hash.
  func note(subject: UInt64, hasFailed: Bool) {
    events += 1
    if hasFailed { failures += 1 }
    if countsSubjects, seen.count < Self.mostSubjects { seen.insert(subject) }
  }
}

/// Deciding for some subjects by the rules of a candidate.
extension Evaluator {
  /// Decides for the subjects of a share by other rules, from the next event on.
  package func beginRollout(of catalog: Catalog, on share: SubjectShare) {
    let candidate = Evaluator(besides: self, catalog: catalog)
    candidate.tally = RolloutTally(countsSubjects: true)
    tally = RolloutTally(countsSubjects: false)
    rollout = Rollout(share: share, candidate: candidate)
    plugins.others = candidate.plugins
    candidate.plugins.others = plugins
  }

  /// Changes the share, from the next event on.
  package func setRollout(_ share: SubjectShare) { rollout?.share = share }

  /// Decides for all subjects by the live rules again, from the next event on; by those of the candidate, if it `isPromoted`.
  package func endRollout(isPromoted: Bool) {
    guard let ended = rollout else { return }
    rollout = nil
    tally = nil
    plugins.others = nil
    ownDuplicates += ended.candidate.ownDuplicates
    guard isPromoted else { return }
    let vms = ended.candidate.plugins
    adopt(vms.catalog, reusing: vms)
  }

  /// The evaluator that decides for a subject: this one, or that of a rollout's candidate; this one for what is about none.
  package func deciding(for subject: [UInt8]?) -> Evaluator {
    guard let rollout, let subject, rollout.share.contains(subject) else { return self }
    return rollout.candidate
  }

  /// What was counted since the rollout began, for the live rules and for the candidate; nil while there is none.
  package var rolloutTallies: (live: RolloutTally, candidate: RolloutTally)? {
    guard let tally, let other = rollout?.candidate.tally else { return nil }
    return (tally, other)
  }
}
