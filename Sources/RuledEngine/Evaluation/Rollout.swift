import RuledCore
import RuledStore

/// Rules that are tried for real on a share of the subjects, on one worker.
struct Rollout {
  /// The subjects that get them.
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

  /// What was counted since the rollout began, for the live rules and for the candidate; nil while there is none.
  package var rolloutTallies: (live: RolloutTally, candidate: RolloutTally)? {
    guard let tally, let other = rollout?.candidate.tally else { return nil }
    return (tally, other)
  }
}

/// The share of the subjects that a revision is tried on.
///
/// A subject is in it when the hash of its name and the revision, as a fraction of its range, lies below the share. So the same subjects are in
/// it on every host and after each restart, a larger share only adds subjects, and another revision gets others.
package struct SubjectShare: Sendable, Equatable {
  /// The share in percent, 0 to 100.
  package let percent: Double
  private let seed: UInt64
  /// The hashes below it are in the share; nil for all.
  private let bound: UInt64?

  /// A share of `percent` percent for a revision.
  package init(percent: Double, revision: String) {
    self.percent = percent
    seed = Array(revision.utf8).withView { hash64($0, seed: 0) }
    bound = percent >= 100 ? nil : UInt64(max(0, percent) / 100 * 0x1p64)
  }

  /// Whether a subject is in it.
  func contains(_ subject: ByteView) -> Bool {
    guard let bound else { return true }
    return hash64(subject, seed: seed) < bound
  }

  /// Whether a subject is in it.
  package func contains(_ subject: [UInt8]) -> Bool { subject.withView { contains($0) } }
}

/// What one worker counts of a side of a rollout; confined to its thread.
package final class RolloutTally {
  /// How many events the side has decided, dry runs and repeats left out.
  package private(set) var events = 0
  /// How many of them a plugin failed on.
  package private(set) var failures = 0
  /// How many subjects had such events, and none before this process: exact up to `mostSubjects`, where it stays.
  package var subjects: Int { seen.count }
  private var seen: Set<UInt64> = []
  /// The subjects that had such events before this process; nil for the side whose subjects are not counted.
  private let earlier: Set<UInt64>?
  private let key = ByteBuffer(capacity: 64)

  /// How many subjects a worker counts, which takes 16 MiB at most.
  package static let mostSubjects = 500_000

  init(earlier: Set<UInt64>?) { self.earlier = earlier }

  /// Counts an event; a count that has to outlast the process joins `writes`.
  func note(_ subject: Subject, hasFailed: Bool, into writes: WriteSet) {
    events += 1
    if hasFailed { failures += 1 }
    guard let earlier, seen.count < Self.mostSubjects else { return }
    let hash = hash64(subject.name, seed: 0)
    guard !earlier.contains(hash), seen.insert(hash).inserted else { return }
    key.removeAll()
    RolloutKey.subject(hash, into: key)
    writes.put(key.bytes, ByteView.empty)
  }
}

/// Where the store keeps what was counted of a rollout: for each worker its counts, in the same commits as its events, and each subject once.
package enum RolloutKey {
  private static let counts = "rollout/counts/"
  private static let subject = "rollout/subject/"

  /// What all these keys begin with.
  package static var all: [UInt8] { prefix("rollout/") }
  /// What the keys of workers' counts begin with.
  package static var allCounts: [UInt8] { prefix(counts) }
  /// What the keys of subjects begin with; the hash follows, eight bytes.
  package static var allSubjects: [UInt8] { prefix(subject) }

  private static func prefix(_ name: String) -> [UInt8] { StoreKey.bytes { StoreKey.daemon(name, into: $0) } }

  /// Appends the key of a worker's counts.
  static func counts(of worker: Int, into buffer: ByteBuffer) {
    StoreKey.daemon(counts, into: buffer)
    buffer.append(decimal: Int64(worker))
  }

  /// Appends the key of a subject.
  static func subject(_ hash: UInt64, into buffer: ByteBuffer) {
    StoreKey.daemon(subject, into: buffer)
    buffer.append(bigEndian: hash)
  }
}

extension Evaluator {
  /// Adds to the batch what was counted of the rollout so far, so that it is as durable as the events that were counted.
  func keepTallies() {
    guard let rollout, let (live, candidate) = rolloutTallies, !batches.current.writes.isEmpty else { return }
    let (key, value) = (rollout.key, rollout.value)
    key.removeAll()
    value.removeAll()
    RolloutKey.counts(of: rollout.worker, into: key)
    for count in [live.events, live.failures, candidate.events, candidate.failures] {
      value.append(bigEndian: UInt64(count))
    }
    batches.current.writes.put(key.bytes, value.bytes)
  }
}
