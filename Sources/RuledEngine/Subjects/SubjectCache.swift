import CLinux
import RuledCore
import RuledStore

/// The hot subjects of one worker, bounded in bytes.
///
/// The ones that were not used lately are evicted first; a subject with an event that is not yet durable stays.
///
/// An open-addressing hash table with linear probing. Eviction is CLOCK: a hand goes round the table and removes the subjects that were not
/// used since it last came by, so that using a subject costs one flag.
final class SubjectCache {
  private struct Slot {
    var hash: UInt64
    var subject: Unmanaged<Subject>?
  }

  private static let leastCapacity = 64

  private let context: EngineContext
  private let batches: BatchQueue
  private var slots: UnsafeMutablePointer<Slot>
  private var mask: Int
  private var hand = 0
  private(set) var count = 0
  /// About how many bytes the subjects take.
  private(set) var bytes = 0
  private(set) var hits = 0
  private(set) var misses = 0
  /// How many bytes the subjects may take.
  private let limit: Int

  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)

  init(_ context: EngineContext, batches: BatchQueue, limit: Int) {
    self.context = context
    self.batches = batches
    self.limit = limit
    slots = Self.table(Self.leastCapacity)
    mask = Self.leastCapacity - 1
  }

  deinit {
    removeAll()
    slots.deallocate()
  }

  // MARK: Subjects

  /// The subject of that name, read from the store if it is not hot.
  func fetchSubject(_ name: ByteView) throws(RequestError) -> Subject {
    let hash = hash64(name)
    if let subject = find(name, hash: hash) {
      hits += 1
      return subject
    }
    misses += 1
    let subject = Subject(name: name, hash: hash)
    StoreKey.record(name, into: key)
    if try batches.readCommitted(key.bytes, of: name, into: value) { subject.setRecord(value.bytes) }
    // Evict before the insertion: the caller is about to change the subject.
    evict()
    insert(subject)
    return subject
  }

  /// The subject whose name is in an array, read from the store if it is not hot.
  func fetchSubject(_ name: [UInt8]) throws(RequestError) -> Subject {
    let bytes = ByteBuffer(capacity: name.count)
    name.withView { bytes.append($0) }
    defer { withExtendedLifetime(bytes) {} }
    return try fetchSubject(bytes.bytes)
  }

  /// A subject's record, nil when it has none; valid until the record changes.
  func record(of subject: Subject) throws(RequestError) -> SubjectRecordView? {
    guard !subject.record.isEmpty else { return nil }
    do throws(StoreError) {
      let record = try SubjectRecordView(subject.record)
      context.clearDamage(Self.recordKey(of: subject), malformed: true)
      return record
    } catch {
      throw Self.recordKey(of: subject).withView { key in
        batches.unreadable(key, of: subject.name, error, malformed: true)
      }
    }
  }

  private static func recordKey(of subject: Subject) -> [UInt8] {
    StoreKey.bytes { StoreKey.record(subject.name, into: $0) }
  }

  func setRecord(_ record: ByteView, of subject: Subject) {
    let cost = subject.cost
    subject.setRecord(record)
    bytes += subject.cost - cost
  }

  func setEarlier(_ value: ByteView, of subject: Subject) {
    let cost = subject.cost
    subject.setEarlier(value)
    bytes += subject.cost - cost
  }

  /// Evicts subjects until the others fit; those with an event that is not yet durable stay.
  func evict() {
    guard bytes > limit else { return }
    let durable = batches.durable
    // Two rounds: the first clears the flags, the second evicts.
    var steps = (mask + 1) * 2
    while bytes > limit, steps > 0 {
      steps -= 1
      hand &= mask
      guard let subject = slots[hand].subject?.takeUnretainedValue() else {
        hand += 1
        continue
      }
      if subject.isUsed || subject.lastCommit > durable {
        subject.isUsed = false
        hand += 1
      } else {
        remove(at: hand)
      }
    }
  }

  func removeAll() {
    for slot in 0...mask {
      slots[slot].subject?.release()
      slots[slot].subject = nil
    }
    bytes = 0
    count = 0
  }

  // MARK: Prefetching

  /// The prefetched parts of a subject, in this order: each part holds the address of the next one.
  enum PrefetchStage: Int, CaseIterable {
    case slot
    case subject
    /// The name and the record.
    case bytes
  }

  /// Prefetches a part of the subject of that hash, if it is hot.
  func prefetch(_ hash: UInt64, _ stage: PrefetchStage) {
    switch stage {
    case .slot: cl_prefetch(slots + home(hash))
    case .subject:
      guard let subject = firstSubject(hash) else { return }
      cl_prefetch(subject.toOpaque())
      cl_prefetch(subject.toOpaque() + 64)
    case .bytes: firstSubject(hash)?._withUnsafeGuaranteedRef { $0.prefetchBytes() }
    }
  }

  /// A subject of that hash, whatever its name.
  private func firstSubject(_ hash: UInt64) -> Unmanaged<Subject>? {
    var slot = home(hash)
    while let subject = slots[slot].subject {
      if slots[slot].hash == hash { return subject }
      slot = (slot + 1) & mask
    }
    return nil
  }

  // MARK: The table

  private static func table(_ capacity: Int) -> UnsafeMutablePointer<Slot> {
    let slots = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
    slots.initialize(repeating: Slot(hash: 0, subject: nil), count: capacity)
    return slots
  }

  /// The slot at which the search for a hash begins.
  private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

  /// The subject of that name if it is hot; it counts as used.
  private func find(_ name: ByteView, hash: UInt64) -> Subject? {
    var slot = home(hash)
    while let found = slots[slot].subject {
      if slots[slot].hash == hash {
        let subject = found.takeUnretainedValue()
        if ByteOrder.equal(subject.name, name) {
          subject.isUsed = true
          return subject
        }
      }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// Adds a subject that is not in the table.
  private func insert(_ subject: Subject) {
    if (count + 1) * 4 > (mask + 1) * 3 { grow() }
    put(Slot(hash: subject.hash, subject: Unmanaged.passRetained(subject)))
    bytes += subject.cost
    count += 1
  }

  private func put(_ new: Slot) {
    var slot = home(new.hash)
    while slots[slot].subject != nil { slot = (slot + 1) & mask }
    slots[slot] = new
  }

  private func grow() {
    let old = slots
    let capacity = mask + 1
    slots = Self.table(capacity * 2)
    mask = capacity * 2 - 1
    for slot in 0..<capacity where old[slot].subject != nil { put(old[slot]) }
    old.deallocate()
  }

  /// Empties a slot, and moves up the following subjects that a search would no longer find.
  private func remove(at slot: Int) {
    guard let subject = slots[slot].subject?.takeRetainedValue() else { return }
    bytes -= subject.cost
    count -= 1
    var free = slot
    var next = (slot + 1) & mask
    while slots[next].subject != nil {
      let distance = (next - home(slots[next].hash)) & mask
      if distance >= (next - free) & mask {
        slots[free] = slots[next]
        free = next
      }
      next = (next + 1) & mask
    }
    slots[free].subject = nil
  }
}
