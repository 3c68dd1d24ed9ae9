import TestSupport

@testable import RuledStore

/// The model: the commits, the store's answer to each, and whether a store's content agrees with these.
struct CommitModel {
  /// The fate of a commit.
  enum Fate {
    /// The store has not answered yet.
    case open
    /// The store answered that it does not know.
    case unknown
    /// It is committed and survives a kill. A power cut may lose it, and then all after it.
    case committed
    /// It was acknowledged, or found by a start.
    case durable
    /// The store answered that it was lost, or a start did not find it.
    case lost
  }

  /// A commit with keys of its own, and some that it shares with others.
  struct Commit {
    let number: Int
    var fate = Fate.open
    /// Its number in the journal; 0 where there is none.
    var sequence: UInt64 = 0
    /// Its own keys and their values.
    let own: [Pair]
    /// The shared keys that it writes, with its value, or nil where it removes the key.
    let shared: [(key: [UInt8], value: [UInt8]?)]

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

  /// The keys that commits share, of two kinds, which are stored in separate files.
  private static let sharedKeys = (0..<6).map { Array("\($0 % 2 == 0 ? "r" : "d")s\($0)".utf8) }

  /// A new commit with up to that many bytes in each value.
  ///
  /// Some values end with zeros, as unwritten bytes do.
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

  /// Sets the number of a commit in the journal.
  mutating func number(_ number: Int, as sequence: UInt64) { commits[number].sequence = sequence }

  /// Sets the fate of a commit.
  mutating func note(_ number: Int, _ fate: Fate) { commits[number].fate = fate }

  /// Sets the fate of all commits that have another one.
  mutating func note(all fates: Set<Fate>, _ fate: Fate) {
    for number in commits.indices where fates.contains(commits[number].fate) { commits[number].fate = fate }
  }

  /// Whether a commit has that fate.
  func has(_ fate: Fate) -> Bool { commits.contains { $0.fate == fate } }

  /// What is wrong with a store's content after a start; nil when nothing is.
  ///
  /// The commits that were found are durable from then on, all others are lost.
  ///
  /// With `keepsCommitted` no commit that was committed may be missing, as after a kill.
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
