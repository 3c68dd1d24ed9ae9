import TestSupport

@testable import RuledStore

/// The commits that a store got, what it said of each, and whether what a store holds can follow from that.
struct CommitModel {
  /// What is known of a commit.
  enum Fate {
    /// The store has not said anything yet.
    case open
    /// The store said that it is not known.
    case unknown
    /// It is committed and outlives the process; a power cut may take it, and then all after it.
    case committed
    /// It was acknowledged, or found by a start.
    case durable
    /// The store said that it was lost, or a start did not find it.
    case lost
  }

  /// A commit, whose keys are its own but for some that it shares with others.
  struct Commit {
    let number: Int
    var fate = Fate.open
    /// Its own keys and their values.
    let own: [Pair]
    /// Keys that other commits write too, with the commit's value or nil where it removes them.
    let shared: [(key: [UInt8], value: [UInt8]?)]

    /// Its writes.
    var set: WriteSet {
      let set = WriteSet()
      for pair in own.dropLast() { set.put(pair.key, pair.value) }
      for write in shared {
        if let value = write.value { set.put(write.key, value) } else { set.delete(write.key) }
      }
      if let last = own.last { set.put(last.key, last.value) }
      return set
    }
  }

  /// All commits, in their order.
  private(set) var commits: [Commit] = []

  /// The keys that commits share, of two kinds that are kept in files apart.
  private static let sharedKeys = (0..<6).map { Array("\($0 % 2 == 0 ? "r" : "d")s\($0)".utf8) }

  /// A new commit with up to so many bytes in each value; some values end with zeros, as what was never written does.
  mutating func next(most: Int, _ random: inout SeededRandom) -> Commit {
    let number = commits.count
    let own = (0..<Int.random(in: 1...3, using: &random)).map { part in
      let count = Int.random(in: 0...most, using: &random)
      let zeros = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0...count, using: &random) : 0
      let byte = UInt8(truncatingIfNeeded: random.next()) | 1
      let value = (0..<count).map { $0 < count - zeros ? byte &+ UInt8(truncatingIfNeeded: $0) : 0 }
      return Pair(key: Array("\(part == 1 ? "d" : "r")\(number)-\(part)".utf8), value: value)
    }
    let shared = Self.sharedKeys.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
      .map { ($0, Int.random(in: 0..<3, using: &random) == 0 ? nil : Array("\(number)".utf8)) }
    let commit = Commit(number: number, own: own, shared: shared)
    commits.append(commit)
    return commit
  }

  /// Notes what is known of a commit.
  mutating func note(_ number: Int, _ fate: Fate) { commits[number].fate = fate }

  /// Notes what became of all commits of which something else was known.
  mutating func note(all fates: Set<Fate>, _ fate: Fate) {
    for number in commits.indices where fates.contains(commits[number].fate) { commits[number].fate = fate }
  }

  /// Whether any commit has that fate.
  func has(_ fate: Fate) -> Bool { commits.contains { $0.fate == fate } }

  /// What is wrong with what a store holds after a start, nil when nothing is; what was found is durable from then on, what was not is lost.
  ///
  /// `keepsCommitted` says that no commit may be missing that was committed, as after a kill.
  mutating func check(keepsCommitted: Bool, _ find: (_ key: [UInt8]) throws(StoreError) -> [UInt8]?) throws(StoreError)
    -> String?
  {
    var isEnded: Int?
    var expected: [[UInt8]: [UInt8]] = [:]
    for (number, commit) in commits.enumerated() {
      var found = 0
      for pair in commit.own {
        guard let value = try find(pair.key) else { continue }
        guard value == pair.value else { return "commit \(number) has another value" }
        found += 1
      }
      if found == 0 {
        switch commit.fate {
        case .durable: return "commit \(number) was durable and is gone"
        case .committed where keepsCommitted: return "commit \(number) was committed and is gone"
        case .committed, .open, .unknown: isEnded = isEnded ?? number
        case .lost: break
        }
        commits[number].fate = .lost
        continue
      }
      if found < commit.own.count { return "commit \(number) is not whole" }
      if commit.fate == .lost { return "commit \(number) was told lost and is there" }
      if let isEnded { return "commit \(number) is there, and \(isEnded) before it is gone" }
      commits[number].fate = .durable
      for write in commit.shared { expected[write.key] = write.value }
    }
    for key in Self.sharedKeys where try find(key) != expected[key] {
      return "\(String(decoding: key, as: UTF8.self)) is not what the last commit made it"
    }
    return nil
  }
}
