import RuledCore

/// One file of the redo log, with all of it in memory and an index of its committed writes.
///
/// Frames are appended behind `end`; a commit adds those before an offset to the index. Written bytes never move, so pointers to them are valid as
/// long as the segment. `LogTail` guards `end` and `synced`, `SegmentList.index` guards `committed` and the index.
final class Segment: @unchecked Sendable {  // guarded by `LogTail` and `SegmentList.index`
  /// The kinds of keys that are scanned in order while the daemon serves: timers by time, queues, and topics' members.
  private static let orderedKinds: [UInt8] = [
    StoreKey.Kind.timerIndex, .message, .effect, .parked, .member, .memberCount, .publication,
  ].map(\.rawValue)

  private(set) var header: LogFrame.FileHeader
  /// Whether the whole file was written to before: a sync of overwritten bytes has no metadata to write; guarded by `SegmentMaker`.
  var hasZeros = false
  /// The bytes of its file: the capacity, unless a backup made the file as a copy.
  var fileBytes: Int
  let base: UnsafeMutableRawPointer
  private let memory: SegmentMemory
  private let pool: SegmentMemoryPool?
  /// Where the committed frames end.
  private(set) var committed = LogFrame.fileHeader
  /// Where the frames end; the next goes there.
  private(set) var end = LogFrame.fileHeader
  /// How far the file is known to be on the disk.
  var synced = LogFrame.fileHeader
  /// The last committed write on each key.
  private(set) var index: SegmentIndex
  private var ordered: [UInt8: OrderedWrites] = [:]
  private let subjects = SubjectWrites()
  private let staged = UnsafeMutablePointer<Staged>.allocate(capacity: Segment.atOnce)

  /// A segment without frames, with room for one commit of `payload` bytes at least; its memory comes from `pool` and returns there.
  init(
    _ header: LogFrame.FileHeader, payload: Int = 0, settings: LogSettings, pool: SegmentMemoryPool? = nil
  ) throws(StoreError) {
    let needed = (LogFrame.fileHeader + 2 * LogFrame.header + payload + LogFrame.block) & ~(LogFrame.block - 1)
    let capacity = max(settings.segmentBytes, needed)
    self.header = header
    self.header.length = capacity
    fileBytes = capacity
    self.pool = pool
    if let pool {
      memory = try pool.take(capacity)
    } else {
      memory = try SegmentMemory(capacity: capacity, slots: settings.indexSlots)
    }
    base = memory.base
    index = SegmentIndex(in: memory.slots)
    self.header.write(to: base)
  }

  deinit {
    index.deallocate()
    staged.deallocate()
    pool?.recycle(memory)
  }

  /// In bytes.
  var capacity: Int { memory.capacity }

  /// Counts up: the writes of a later segment come after those of an earlier one.
  var number: UInt64 { header.number }

  /// Whether it has no frames.
  var isEmpty: Bool { end == LogFrame.fileHeader }

  /// Releases the memory behind the frames.
  func trim() { memory.release(from: end) }

  /// Makes the header say that segment `number` comes before, has no seal, and ends at `end`; the caller writes the header to the file.
  func follow(_ number: UInt64, endingAt end: Int) {
    header.predecessor = number
    header.predecessorEnd = end
    header.write(to: base)
  }

  // MARK: Frames

  /// Whether a commit of `payload` bytes fits, and the seal behind it.
  func hasRoom(for payload: Int) -> Bool { end + 2 * LogFrame.header + payload <= capacity }

  /// Writes a commit's frame behind the others; `extend` makes it one of them.
  func stage(_ payload: ByteView) -> ByteView {
    if let start = payload.baseAddress {
      (base + end + LogFrame.header).copyMemory(from: start, byteCount: payload.count)
    }
    return stage(.commit, length: payload.count)
  }

  /// Writes a seal or a mark behind the frames, without making it one of them.
  func stage(_ kind: LogFrame.Kind) -> ByteView { stage(kind, length: 0) }

  private func stage(_ kind: LogFrame.Kind, length: Int) -> ByteView {
    LogFrame.writeHeader(kind, at: end, length: length, number: number, synced: synced, in: base)
    return ByteView(start: base + end, count: LogFrame.header + length)
  }

  func extend(over frame: ByteView) { end += frame.count }

  func discardUncommitted() { end = committed }

  /// Calls `body` with the payload of each frame before `limit` and the frame's offset until it returns false, in their order.
  ///
  /// `start` is the offset of a frame, nil for the first.
  func forEachCommit(from start: Int?, before limit: Int, _ body: (ByteView, Int) -> Bool) {
    var offset = start ?? LogFrame.fileHeader
    while offset < limit {
      let count = LogFrame.payload(at: offset, in: base)
      guard body(ByteView(start: base + offset + LogFrame.header, count: count), offset) else { return }
      offset += LogFrame.header + count
    }
  }

  // MARK: Committing

  /// Commits the frames before `offset`.
  func commit(to offset: Int) {
    while committed < offset { commitNext(payload: LogFrame.payload(at: committed, in: base)) }
  }

  /// Appends and commits the next frame as it is in the file, whose payload has `payload` bytes.
  func recover(payload: Int) {
    commitNext(payload: payload)
    end = committed
    synced = committed
  }

  /// Commits the next frame, whose payload has `payload` bytes.
  ///
  /// Keys and index slots are spread over more memory than the processor's cache holds, so those of `atOnce` writes are prefetched together.
  private func commitNext(payload: Int) {
    var offset = committed + LogFrame.header
    let end = offset + payload
    committed = end
    while offset < end {
      var count = 0
      while offset < end, count < Self.atOnce {
        if WriteRecords.isForJournal(in: base, at: offset) {
          SegmentWrite.skip(&offset, in: base)
          continue
        }
        let key = SegmentWrite.key(at: offset, in: base)
        (staged + count).initialize(to: Staged(offset: offset, hash: index.prefetchSlot(of: key), key: key))
        count += 1
        SegmentWrite.skip(&offset, in: base)
      }
      for number in 0..<count { index.prefetchKey(at: staged[number].hash, in: base) }
      for number in 0..<count { add(staged[number]) }
    }
  }

  private func add(_ write: Staged) {
    index.set(write.key, hash: write.hash, at: write.offset, in: base)
    if let kind = write.key.first, Self.orderedKinds.contains(kind) {
      ordered[kind, default: OrderedWrites()].set(write.key, at: write.offset, in: base)
    }
  }

  /// A write on its way into the index.
  private struct Staged {
    let offset: Int
    let hash: UInt64
    let key: ByteView
  }

  /// How many writes are prefetched together.
  private static let atOnce = 16

  // MARK: Reading

  /// The last committed write on a key; the bytes are valid as long as the segment.
  func lookup(_ key: ByteView) -> WriteLookup {
    let offset = index.find(key, in: base)
    guard offset != 0 else { return .absent }
    guard let value = SegmentWrite.value(at: offset, in: base) else { return .deleted }
    return .value(value)
  }

  /// The last committed writes on the keys of a scope, in order, and perhaps on others; on all keys when there is no scope.
  func writes(in scope: KeyScope?) -> OrderedWrites {
    if let scope, Self.orderedKinds.contains(scope.kind) { return ordered[scope.kind] ?? OrderedWrites() }
    guard let scope, scope.subject != 0 else {
      let found = offsets(from: LogFrame.fileHeader) { kind, tag in scope?.holds(kind: kind, tag: tag) ?? true }
      return OrderedWrites(sorted: SortedWrites.sort(found, in: base))
    }
    let ofSubject = subjects.offsets(of: scope.subject, before: committed) { start in
      offsets(from: start) { _, tag in tag == scope.subject }
    }
    let found = ofSubject.filter { offset in
      let key = SegmentWrite.key(at: Int(offset), in: base)
      return key.first == scope.kind && index.find(key, in: base) == Int(offset)
    }
    return OrderedWrites(sorted: SortedWrites.sort(found, in: base))
  }

  /// The offsets of the last writes in the frames from `start` on whose kind and tag are wanted, in no order.
  ///
  /// Reads the frames if they are few, and the index otherwise, of which a byte is read eight times as fast.
  private func offsets(from start: Int, _ isWanted: (_ kind: UInt8, _ tag: UInt32) -> Bool) -> [UInt32] {
    guard committed - start < index.bytes / 8 else { return index.offsets(from: start, isWanted) }
    var found: [UInt32] = []
    forEachCommit(from: start, before: committed) { payload, frame in
      var next = frame + LogFrame.header
      let end = next + payload.count
      while next < end {
        let write = next
        SegmentWrite.skip(&next, in: base)
        if WriteRecords.isForJournal(in: base, at: write) { continue }
        let key = SegmentWrite.key(at: write, in: base)
        guard isWanted(key.first ?? 0, KeyScope.tag(key)), index.find(key, in: base) == write else { continue }
        found.append(UInt32(write))
      }
      return true
    }
    return found
  }
}
