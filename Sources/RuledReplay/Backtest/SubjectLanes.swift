/// Divides the subjects of a replay into lanes that no recorded message joins, so that lanes can be replayed side by side.
///
/// Subjects that send each other messages, directly or through others, are in one lane. Which one depends on the record alone, not on how
/// many threads replay it: reports are kept by lane, and so are the same for any number of threads. It takes 40 bytes for each subject
/// that is joined to another while the record is read, 16 afterwards.
struct SubjectLanes: Sendable {
  /// How many lanes there are, and so how many threads there may be at most.
  static let count = 8
  /// With more joined subjects than this all subjects are in one lane.
  private static let mostJoined = 1 << 24

  /// The lanes of the subjects that are joined to others, by the hash of the name.
  private var joined: [UInt64: UInt8] = [:]
  /// Whether all subjects are in the first lane.
  private var isWhole = false
  /// About how many entries each lane has.
  private(set) var weights = Array(repeating: 0, count: count)

  func lane(of subject: String) -> Int {
    if isWhole { return 0 }
    let hash = subject.nameHash
    if !joined.isEmpty, let lane = joined[hash] { return Int(lane) }
    return Self.lane(of: hash)
  }

  /// Which of `threads` threads replays each lane: the largest lanes first, each by the thread that has least.
  func threads(_ threads: Int) -> [Int] {
    var owners = Array(repeating: 0, count: Self.count)
    var loads = Array(repeating: 0, count: threads)
    for lane in (0..<Self.count).sorted(by: { (weights[$1], $0) < (weights[$0], $1) }) {
      let least = (0..<threads).min { (loads[$0], $0) < (loads[$1], $1) } ?? 0
      owners[lane] = least
      loads[least] += max(weights[lane], 1)
    }
    return owners
  }

  private static func lane(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 32) % count }

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
    private var alone = Array(repeating: 0, count: SubjectLanes.count)
    private var isFull = false

    mutating func note(_ subject: String) {
      let hash = subject.nameHash
      if !positions.isEmpty, let position = positions[hash] {
        entries[Int(position)] &+= 1
      } else {
        alone[SubjectLanes.lane(of: hash)] += 1
      }
    }

    mutating func join(_ sender: String, _ receiver: String) {
      guard sender != receiver, !isFull else { return }
      let (first, second) = (root(of: position(of: sender)), root(of: position(of: receiver)))
      parents[Int(max(first, second))] = min(first, second)
      isFull = hashes.count > SubjectLanes.mostJoined
    }

    private mutating func position(of subject: String) -> Int32 {
      let hash = subject.nameHash
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

    consuming func lanes() -> SubjectLanes {
      var lanes = SubjectLanes()
      guard !isFull else {
        lanes.isWhole = true
        return lanes
      }
      lanes.weights = alone
      positions = [:]
      lanes.joined.reserveCapacity(hashes.count)
      for position in hashes.indices {
        let lane = SubjectLanes.lane(of: hashes[Int(root(of: Int32(position)))])
        lanes.joined[hashes[position]] = UInt8(lane)
        lanes.weights[lane] += Int(entries[position])
      }
      return lanes
    }
  }
}
