import RuledCore
import RuledJournal

/// Whether the two sides left each subject with the same state: 16 bytes a subject, 20 to 40 with the room of the table.
///
/// Subjects are told apart by 64 bits of their names' hashes, and states by 31 bits of theirs.
struct SubjectStates: Sendable {
  private struct Slot: Sendable {
    /// The hash of the subject's name; 0 is a free slot.
    var subject: UInt64 = 0
    /// The digest of the baseline's state, and whether an event of the subject changed, in the highest bit.
    var baseline: UInt32 = 0
    var candidate: UInt32 = 0

    var isChanged: Bool { baseline & SubjectStates.changedBit != 0 }
  }

  private static let changedBit: UInt32 = 1 << 31

  private static let shardBits: UInt64 = 8
  /// Open addressing; each shard grows by itself, so that growing needs little memory at once.
  private var shards: [[Slot]] = Array(repeating: [], count: 1 << shardBits)
  private var used = Array(repeating: 0, count: 1 << shardBits)

  var count: Int { used.reduce(0, +) }

  /// How many subjects both sides left with the same state, and how many not.
  var equalAndChanged: (equal: Int, changed: Int) {
    var (equal, changed) = (0, 0)
    for shard in shards {
      for slot in shard where slot.subject != 0 {
        if slot.baseline & ~Self.changedBit == slot.candidate { equal += 1 } else { changed += 1 }
      }
    }
    return (equal, changed)
  }

  /// How many subjects had an event that came out differently.
  var withChangedEvents: Int {
    shards.reduce(0) { count, shard in count + shard.count { $0.isChanged } }
  }

  /// Notes the digests of a subject's states; nil leaves a side as it was.
  ///
  /// `isChanged`: whether the event that led there came out differently. `addsSubject`: whether a subject that is not
  /// known becomes known.
  mutating func note(
    _ subject: String, baseline: UInt32?, candidate: UInt32?, isChanged: Bool, addsSubject: Bool = true
  ) {
    let hash = max(subject.withView { hash64($0) }, 1)
    let shard = Int(hash & ((1 << Self.shardBits) - 1))
    if used[shard] * 4 >= shards[shard].count * 3 {
      guard addsSubject else { return }
      grow(shard)
    }
    let index = Self.find(hash, in: shards[shard])
    if shards[shard][index].subject == 0 {
      guard addsSubject else { return }
      used[shard] += 1
      shards[shard][index].subject = hash
    }
    if let baseline {
      shards[shard][index].baseline = baseline | (shards[shard][index].baseline & Self.changedBit)
    }
    if isChanged { shards[shard][index].baseline |= Self.changedBit }
    if let candidate { shards[shard][index].candidate = candidate }
  }

  private mutating func grow(_ shard: Int) {
    let old = shards[shard]
    var slots = Array(repeating: Slot(), count: max(16, old.count * 2))
    for slot in old where slot.subject != 0 { slots[Self.find(slot.subject, in: slots)] = slot }
    shards[shard] = slots
  }

  /// The index of the subject's slot, or of the free one that it may have.
  private static func find(_ hash: UInt64, in slots: [Slot]) -> Int {
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: hash >> shardBits) & mask
    while slots[index].subject != 0, slots[index].subject != hash { index = (index + 1) & mask }
    return index
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
