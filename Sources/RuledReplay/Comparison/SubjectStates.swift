import RuledCore
import RuledJournal

/// Whether the two sides left each subject with the same state: 16 bytes a subject, 20 to 40 with the room of the table.
///
/// Subjects are told apart by 64 bits of their names' hashes, and states by 31 bits of theirs.
struct SubjectStates: Sendable {
  private struct Digests: Sendable {
    /// The digest of the baseline's state, and whether an event of the subject changed, in the highest bit.
    var baseline: UInt32 = 0
    var candidate: UInt32 = 0

    var isChanged: Bool { baseline & SubjectStates.changedBit != 0 }
    var isEqual: Bool { baseline & ~SubjectStates.changedBit == candidate }
  }

  private static let changedBit: UInt32 = 1 << 31

  private static let shardCount = 256
  /// The digests by the hash of the subject's name; each shard grows by itself, so that growing needs little memory at once.
  private var shards: [[UInt64: Digests]] = Array(repeating: [:], count: shardCount)

  var count: Int { shards.reduce(0) { $0 + $1.count } }

  /// How many subjects both sides left with the same state, and how many not.
  var equalAndChanged: (equal: Int, changed: Int) {
    let equal = shards.reduce(0) { count, shard in count + shard.values.count { $0.isEqual } }
    return (equal, count - equal)
  }

  /// How many subjects had an event that came out differently.
  var withChangedEvents: Int {
    shards.reduce(0) { count, shard in count + shard.values.count { $0.isChanged } }
  }

  /// Notes the digests of a subject's states; nil leaves a side as it was.
  ///
  /// `isChanged`: whether the event that led there came out differently. `addsSubject`: whether a subject that is not
  /// known becomes known.
  mutating func note(
    _ subject: String, baseline: UInt32?, candidate: UInt32?, isChanged: Bool, addsSubject: Bool = true
  ) {
    let hash = subject.withView { hash64($0) }
    let shard = Int(hash % UInt64(Self.shardCount))
    guard var digests = shards[shard][hash] ?? (addsSubject ? Digests() : nil) else { return }
    if let baseline { digests.baseline = baseline | (digests.baseline & Self.changedBit) }
    if isChanged { digests.baseline |= Self.changedBit }
    if let candidate { digests.candidate = candidate }
    shards[shard][hash] = digests
  }

  /// The digest of the states of all plugins, for `note`.
  static func digest(of states: [JournalEntry.Digest]) -> UInt32 {
    var digest: UInt64 = 0
    for state in states {
      digest = (digest &* 31) ^ state.plugin.withView { hash64($0, seed: state.state) }
    }
    return UInt32(truncatingIfNeeded: digest ^ (digest >> 32)) & ~changedBit
  }
}
