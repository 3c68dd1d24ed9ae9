import RuledCore
import RuledJournal

/// Divides the subjects of a replay into shares that no recorded message joins, so that shares can be replayed side by side.
///
/// Subjects that send each other messages, directly or through others, are in one share. Which one depends on the record alone, not on how
/// many threads replay it: reports are kept by share, and so are the same for any number of threads. It takes 40 bytes for each subject
/// that is joined to another while the record is read, 16 afterwards.
package struct SubjectShares: Sendable {
  /// How many shares there are, and so how many threads there may be at most.
  package static let count = 8
  /// With more joined subjects than this all subjects are in one share.
  private static let mostJoined = 1 << 24

  /// The shares of the subjects that are joined to others, by the hash of the name.
  private var joined: [UInt64: UInt8] = [:]
  /// Whether all subjects are in the first share.
  private var isWhole = false
  /// About how many entries each share has.
  private(set) var weights = Array(repeating: 0, count: count)

  /// Shares of subjects that nothing joins.
  package init() {}

  /// The share of a subject.
  func share(of subject: String) -> Int {
    if isWhole { return 0 }
    let hash = Self.hash(of: subject)
    if !joined.isEmpty, let share = joined[hash] { return Int(share) }
    return Self.share(of: hash)
  }

  /// Which of `threads` threads replays each share: the largest shares first, each by the thread that has least.
  func threads(_ threads: Int) -> [Int] {
    var owners = Array(repeating: 0, count: Self.count)
    var loads = Array(repeating: 0, count: threads)
    for share in (0..<Self.count).sorted(by: { (weights[$1], $0) < (weights[$0], $1) }) {
      let least = (0..<threads).min { (loads[$0], $0) < (loads[$1], $1) } ?? 0
      owners[share] = least
      loads[least] += max(weights[share], 1)
    }
    return owners
  }

  static func hash(of subject: String) -> UInt64 { subject.withView { hash64($0, seed: 0) } }

  private static func share(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 32) % count }

  // MARK: Reading a record

  /// Finds out which subjects of a record are joined.
  struct Builder {
    private var positions: [UInt64: Int32] = [:]
    private var hashes: [UInt64] = []
    /// Another subject of the same group that comes before; of the first one it is itself.
    private var parents: [Int32] = []
    /// How many entries each subject has since it was found to be joined.
    private var entries: [Int32] = []
    /// The entries of subjects that were not joined to any other when they came.
    private var alone = Array(repeating: 0, count: SubjectShares.count)
    private var isFull = false

    /// Notes an entry of a subject.
    mutating func note(_ subject: String) {
      let hash = SubjectShares.hash(of: subject)
      if !positions.isEmpty, let position = positions[hash] {
        entries[Int(position)] &+= 1
      } else {
        alone[SubjectShares.share(of: hash)] += 1
      }
    }

    /// Notes a message from one subject to another.
    mutating func join(_ sender: String, _ receiver: String) {
      guard sender != receiver, !isFull else { return }
      let (first, second) = (root(of: position(of: sender)), root(of: position(of: receiver)))
      parents[Int(max(first, second))] = min(first, second)
      isFull = hashes.count > SubjectShares.mostJoined
    }

    private mutating func position(of subject: String) -> Int32 {
      let hash = SubjectShares.hash(of: subject)
      if let position = positions[hash] { return position }
      let position = Int32(hashes.count)
      positions[hash] = position
      hashes.append(hash)
      parents.append(position)
      entries.append(0)
      return position
    }

    private mutating func root(of position: Int32) -> Int32 {
      var position = position
      while parents[Int(position)] != position {
        parents[Int(position)] = parents[Int(parents[Int(position)])]
        position = parents[Int(position)]
      }
      return position
    }

    /// The shares of what was noted.
    consuming func shares() -> SubjectShares {
      var shares = SubjectShares()
      guard !isFull else {
        shares.isWhole = true
        return shares
      }
      shares.weights = alone
      positions = [:]
      shares.joined.reserveCapacity(hashes.count)
      for position in hashes.indices {
        let share = SubjectShares.share(of: hashes[Int(root(of: Int32(position)))])
        shares.joined[hashes[position]] = UInt8(share)
        shares.weights[share] += Int(entries[position])
      }
      return shares
    }
  }
}
