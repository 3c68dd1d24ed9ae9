import CLinux
import RuledCore
import RuledStore

/// A hot subject: its record as the last evaluated event left it, committed or not.
final class Subject {
  /// The hash of the name, by which the cache finds it.
  let hash: UInt64
  /// The name, and behind it the record with room to grow: side by side, so that both are brought nearer at once.
  private var block: UnsafeMutableRawPointer
  private let nameCount: Int
  private var recordCount = 0
  private var recordCapacity = 0
  /// The number of the last commit that holds something of this subject; what the store holds is older until it is durable.
  var lastCommit: UInt64 = 0
  /// The value of its earlier events, nil before somebody asked for it; it counts as long as the record says.
  private(set) var earlier: ByteBuffer?
  private var earlierHashes = HashFilter()
  /// Whether it was asked for since the cache last looked for something to let go.
  var isUsed = true

  init(name: UnsafeRawBufferPointer, hash: UInt64) {
    nameCount = name.count
    self.hash = hash
    block = UnsafeMutableRawPointer.allocate(byteCount: name.count, alignment: 16)
    if let start = name.baseAddress { block.copyMemory(from: start, byteCount: name.count) }
  }

  deinit { block.deallocate() }

  /// The subject's name; valid until the record changes.
  var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: block, count: nameCount) }

  /// The record's bytes, none for a subject that nothing was ever committed for; valid until the record changes.
  var record: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: block + nameCount, count: recordCount) }

  /// Keeps another record, whose bytes lie elsewhere.
  func keepRecord(_ bytes: UnsafeRawBufferPointer) {
    if bytes.count > recordCapacity { makeRoom(for: bytes.count) }
    if let start = bytes.baseAddress { (block + nameCount).copyMemory(from: start, byteCount: bytes.count) }
    recordCount = bytes.count
  }

  private func makeRoom(for count: Int) {
    let lines = (nameCount + count + count / 4 + 63) / 64
    let grown = UnsafeMutableRawPointer.allocate(byteCount: lines * 64, alignment: 16)
    grown.copyMemory(from: block, byteCount: nameCount)
    block.deallocate()
    block = grown
    recordCapacity = lines * 64 - nameCount
  }

  /// Begins to bring name and record into the processor's cache.
  func approach() {
    for line in stride(from: 0, to: min(nameCount + recordCount, 512), by: 64) { cl_prefetch(block + line) }
  }

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
  var cost: Int { 192 + nameCount + recordCapacity + (earlier?.capacity ?? 0) }
}
