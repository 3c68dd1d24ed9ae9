import RuledCore
import RuledStore

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
