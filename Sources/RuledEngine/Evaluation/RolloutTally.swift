import RuledCore
import RuledStore

/// One worker's counts of one side of a rollout; confined to its thread.
package final class RolloutTally {
  /// How many events the side has decided, dry runs and repeats left out.
  package private(set) var events = 0
  /// How many of them a plugin failed on.
  package private(set) var failures = 0
  /// The number of subjects with such events, and none before this process: exact up to `mostSubjects`, where it stays.
  package var subjects: Int { seen.count }
  private var seen: Set<UInt64> = []
  /// The subjects that had such events before this process; nil for the side whose subjects are not counted.
  private let earlier: Set<UInt64>?
  private let key = ByteBuffer(capacity: 64)

  /// How many subjects a worker counts, which takes 16 MiB at most.
  static let mostSubjects = 500_000

  init(earlier: Set<UInt64>?) { self.earlier = earlier }

  /// Counts an event; a count that has to outlast the process joins `writes`.
  func note(_ subject: Subject, hasFailed: Bool, into writes: WriteSet) {
    events += 1
    if hasFailed { failures += 1 }
    guard let earlier, seen.count < Self.mostSubjects else { return }
    let hash = hash64(subject.name, seed: 0)
    guard !earlier.contains(hash), seen.insert(hash).inserted else { return }
    RolloutKey.subject(hash, into: key)
    writes.put(key.bytes, ByteView.empty)
  }
}

/// The keys of a rollout's counts in the store: each worker's counts, in the same commits as its events, and each subject once.
package enum RolloutKey {
  private static let counts = "rollout/counts/"
  private static let subject = "rollout/subject/"

  package static var all: [UInt8] { prefix("rollout/") }
  package static var allCounts: [UInt8] { prefix(counts) }
  /// The prefix of the keys of subjects; the hash follows, eight bytes.
  package static var allSubjects: [UInt8] { prefix(subject) }

  private static func prefix(_ name: String) -> [UInt8] { StoreKey.bytes { StoreKey.daemon(name, into: $0) } }

  static func counts(of worker: Int, into buffer: ByteBuffer) {
    StoreKey.daemon(counts, into: buffer)
    buffer.append(decimal: Int64(worker))
  }

  static func subject(_ hash: UInt64, into buffer: ByteBuffer) {
    StoreKey.daemon(subject, into: buffer)
    buffer.append(bigEndian: hash)
  }
}
