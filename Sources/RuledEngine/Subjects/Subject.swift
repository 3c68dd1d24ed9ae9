import RuledCore
import RuledStore

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
  /// The value of its earlier events, nil before somebody asked for it; it counts as long as the record says.
  private(set) var earlier: ByteBuffer?
  private var earlierHashes = HashFilter()
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

  /// Keeps the value of its earlier events.
  func keepEarlier(_ value: UnsafeRawBufferPointer) {
    let kept = earlier ?? ByteBuffer(capacity: value.count)
    kept.removeAll()
    kept.append(value)
    earlier = kept
    earlierHashes = HashFilter()
    let events = EarlierEvents.read(value)
    for index in 0..<events.count { earlierHashes.insert(events[index].hash) }
  }

  /// Whether an event of that hash may be among the earlier ones that are kept; false is certain, and found without looking at them.
  func mayHaveSeenEarlier(_ hash: UInt64) -> Bool { earlierHashes.mayContain(hash) }

  /// About how many bytes the subject takes.
  var cost: Int { 192 + name.count + record.capacity + (earlier?.capacity ?? 0) }
}
