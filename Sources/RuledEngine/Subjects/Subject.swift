import CLinux
import RuledCore
import RuledStore

/// A hot subject: its record as the last evaluated event left it, durable or not.
final class Subject {
  /// The hash of the name by which the cache finds it.
  let hash: UInt64
  /// The number of the last batch that writes something of this subject.
  ///
  /// Until that batch is durable, the store holds an older state.
  var lastCommit: UInt64 = 0
  /// Whether it was used since the cache last looked for a subject to evict.
  var isUsed = true
  /// How many timers are pending for it at most, of all plugins; nil until somebody asked.
  var mostTimers: Int?
  /// The names of its pending timers, if they are many and somebody asked.
  var pendingTimers: PendingTimers?
  /// The value of its earlier events, nil until somebody asked for it; valid as long as the record says.
  private(set) var earlier: ByteBuffer?
  private var earlierHashes = HashFilter()

  /// The name and after it the record with room to grow: in one block, so that one prefetch brings both.
  private var block: UnsafeMutableRawPointer
  private let nameCount: Int
  private var recordCount = 0
  private var recordCapacity = 0
  private let changes = ByteChanges()

  init(name: ByteView, hash: UInt64) {
    nameCount = name.count
    self.hash = hash
    block = UnsafeMutableRawPointer.allocate(byteCount: name.count, alignment: 16)
    if let start = name.baseAddress { block.copyMemory(from: start, byteCount: name.count) }
  }

  deinit {
    changes.endViews()
    block.deallocate()
  }

  /// The subject's name; valid until the record changes.
  var name: ByteView { ByteView(start: block, count: nameCount, until: changes) }

  /// The record's bytes, none for a subject without events; valid until the record changes.
  var record: ByteView { ByteView(start: block + nameCount, count: recordCount, until: changes) }

  func setRecord(_ bytes: ByteView) {
    if bytes.count > recordCapacity { growRecord(to: bytes.count) }
    if let start = bytes.baseAddress { (block + nameCount).copyMemory(from: start, byteCount: bytes.count) }
    recordCount = bytes.count
    changes.endViews()
  }

  private func growRecord(to count: Int) {
    let lines = (nameCount + count + count / 4 + 63) / 64
    let grown = UnsafeMutableRawPointer.allocate(byteCount: lines * 64, alignment: 16)
    grown.copyMemory(from: block, byteCount: nameCount)
    block.deallocate()
    block = grown
    recordCapacity = lines * 64 - nameCount
  }

  /// Copies the value of its earlier events in.
  func setEarlier(_ value: ByteView) {
    let copy = earlier ?? ByteBuffer(capacity: value.count)
    copy.removeAll()
    copy.append(value)
    earlier = copy
    earlierHashes = HashFilter()
    let events = EarlierEvents.read(value)
    for index in 0..<events.count { earlierHashes.insert(events[index].hash) }
  }

  /// Whether an event of that hash may be among the earlier ones that were copied in; false is certain.
  func mayHaveSeenEarlier(_ hash: UInt64) -> Bool { earlierHashes.mayContain(hash) }

  /// Prefetches name and record, 512 bytes at most.
  func prefetchBytes() {
    for line in stride(from: 0, to: min(nameCount + recordCount, 512), by: 64) { cl_prefetch(block + line) }
  }

  /// About how many bytes the subject takes.
  var cost: Int { 192 + nameCount + recordCapacity + (earlier?.capacity ?? 0) }
}

/// A Bloom filter of 256 bits with two bits for each hash.
///
/// With 32 hashes one lookup in twenty is a false positive, with 128 two in five.
struct HashFilter {
  private var words: InlineArray<4, UInt64> = .init(repeating: 0)

  /// Adds a hash whose bits are all as good as random.
  mutating func insert(_ hash: UInt64) {
    words[Self.word(hash)] |= Self.bit(hash)
    words[Self.word(hash >> 8)] |= Self.bit(hash >> 8)
  }

  /// Whether the hash may have been added; false is certain.
  func mayContain(_ hash: UInt64) -> Bool {
    words[Self.word(hash)] & Self.bit(hash) != 0 && words[Self.word(hash >> 8)] & Self.bit(hash >> 8) != 0
  }

  private static func word(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash & 0xFF) >> 6 }
  private static func bit(_ hash: UInt64) -> UInt64 { 1 << (hash & 63) }
}
