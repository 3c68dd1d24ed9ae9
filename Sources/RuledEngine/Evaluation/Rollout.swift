import RuledCore

/// Rules that are tried for real on a share of the subjects, on one worker.
struct Rollout {
  var share: SubjectShare
  /// Evaluates the events of these subjects, with the cache, the batch and the remembered outcomes of the live evaluator.
  let candidate: Evaluator
  /// The worker's number, under which its counts are stored.
  let worker: Int
  /// Room for the key and the value of its counts.
  let key = ByteBuffer(capacity: 64), value = ByteBuffer(capacity: 64)
}

/// Deciding for some subjects by the rules of a candidate.
extension Evaluator {
  /// Decides for the subjects of a share by other rules, from the next event on.
  ///
  /// - Parameters:
  ///   - catalog: the other rules.
  ///   - share: the subjects.
  ///   - worker: the worker's number.
  ///   - earlier: the subjects that were counted before this process, by the hash of the name with the seed 0.
  package func beginRollout(of catalog: Catalog, on share: SubjectShare, worker: Int, earlier: Set<UInt64>) {
    let candidate = Evaluator(besides: self, catalog: catalog)
    candidate.tally = RolloutTally(earlier: earlier)
    tally = RolloutTally(earlier: nil)
    rollout = Rollout(share: share, candidate: candidate, worker: worker)
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
    ownDifferences += ended.candidate.ownDifferences
    guard isPromoted else { return }
    let vms = ended.candidate.plugins
    adopt(vms.catalog, reusing: vms)
  }

  /// The evaluator that decides for a subject: this one, or that of a rollout's candidate; calls without a subject use the live rules.
  package func deciding(for subject: [UInt8]?) -> Evaluator {
    guard let rollout, let subject, rollout.share.contains(subject) else { return self }
    return rollout.candidate
  }

  /// The counts since the rollout began, for the live rules and for the candidate; nil while there is none.
  package var rolloutTallies: (live: RolloutTally, candidate: RolloutTally)? {
    guard let tally, let other = rollout?.candidate.tally else { return nil }
    return (tally, other)
  }
}

extension Evaluator {
  /// Adds the rollout's counts to the batch, so that they are as durable as the counted events.
  func keepTallies() {
    guard let rollout, let (live, candidate) = rolloutTallies, !batches.current.writes.isEmpty else { return }
    let (key, value) = (rollout.key, rollout.value)
    value.removeAll()
    RolloutKey.counts(of: rollout.worker, into: key)
    for count in [live.events, live.failures, candidate.events, candidate.failures] {
      value.append(bigEndian: UInt64(count))
    }
    batches.current.writes.put(key.bytes, value.bytes)
  }
}
