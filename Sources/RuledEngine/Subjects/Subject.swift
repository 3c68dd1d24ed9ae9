import RuledCore

/// A hot subject: its record as the last evaluated event left it, committed or not.
final class Subject {
  /// The subject's name; valid as long as the subject.
  let name: UnsafeRawBufferPointer
  /// The hash of the name, by which the cache finds it.
  let hash: UInt64
  /// The record's bytes, empty for a subject that nothing was ever committed for.
  let record: ByteBuffer
  /// The number of the last commit that holds something of this subject; what the store holds is older until it is durable.
  var lastCommit: UInt64 = 0
  /// The events that the record no longer lists though their outcomes are remembered, as far as they are known here.
  var overflow = Overflow()
  /// Whether it was asked for since the cache last looked for something to let go.
  var isUsed = true

  init(name: UnsafeRawBufferPointer, hash: UInt64) {
    let own = UnsafeMutableRawBufferPointer.allocate(byteCount: name.count, alignment: 1)
    own.copyMemory(from: name)
    self.name = UnsafeRawBufferPointer(own)
    self.hash = hash
    record = ByteBuffer(capacity: 64)
  }

  deinit { name.deallocate() }

  /// About how many bytes the subject takes.
  var cost: Int { 192 + name.count + record.capacity }

  /// Events by their hashes, with when their outcomes expire in seconds since 1970.
  struct Overflow {
    /// How many are kept; beyond that the store is asked.
    static let most = 128

    private var times: [UInt64: UInt32] = [:]
    /// Whether there are no others.
    private(set) var isComplete = false
    /// The last commit that holds an entry that is not kept here.
    private(set) var lastCommit: UInt64 = 0

    /// When the outcome of the event with that hash expires, as far as it is known.
    func seconds(of hash: UInt64) -> UInt32? { times[hash] }

    /// Adds an event, in a commit of that number; `isFirst` says that no other is remembered that the record does not list.
    mutating func add(_ hash: UInt64, expiring seconds: UInt32, commit: UInt64, isFirst: Bool) {
      if isFirst {
        times.removeAll()
        isComplete = true
      } else if times.count >= Self.most {
        times.removeAll()
        isComplete = false
      }
      if times.isEmpty, !isComplete { lastCommit = commit }
      times[hash] = seconds
    }
  }
}
