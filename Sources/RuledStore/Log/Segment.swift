import Glibc
import RuledCore

/// One file of the redo log, with all of it in memory and an index of its writes.
///
/// What is written stays where it is, so that bytes handed out are valid as long as the segment. Writes are appended by the log alone, under
/// the lock on its end; the index is read and changed under the log's index lock.
final class Segment: @unchecked Sendable {
  /// The kinds of keys that are looked through in order while the daemon serves: timers by time, and what waits in queues.
  private static let orderedKinds: [UInt8] = [
    StoreKey.Kind.timerIndex, .message, .effect, .parked,
  ].map(\.rawValue)

  /// What its file begins with; its number counts up: the writes of a later segment come after those of an earlier one.
  private(set) var header: LogFrame.FileHeader
  /// Whether its file was written to before, all of it, so that syncs of what is written over have no metadata to write; the log's maker's.
  var isWrittenAhead = false
  /// The first byte.
  let base: UnsafeMutableRawPointer
  private let memory: SegmentMemory
  private let pool: SegmentMemoryPool?
  /// How many bytes hold commits that count; changed under the log's index lock.
  private(set) var used = LogFrame.fileHeader
  /// How many bytes hold commits, counting or not; the next goes there.
  ///
  /// Changed under the lock on the log's end, while others may be made to count.
  private(set) var end = LogFrame.fileHeader
  /// How many bytes are on the disk; changed under the lock on the log's end.
  var durable = LogFrame.fileHeader
  /// The last writes on all keys.
  private(set) var index: SegmentIndex
  private var ordered: [UInt8: OrderedWrites] = [:]
  private let staged = UnsafeMutablePointer<Staged>.allocate(capacity: Segment.atOnce)

  /// A segment without writes, whose header says so much, with room for one commit of `payload` bytes at least; its memory comes from `pool`
  /// and goes there in the end.
  init(
    _ header: LogFrame.FileHeader, payload: Int = 0, settings: LogSettings, pool: SegmentMemoryPool? = nil
  ) throws(StoreError) {
    let needed = (LogFrame.fileHeader + 2 * LogFrame.header + payload + LogFrame.block) & ~(LogFrame.block - 1)
    let capacity = max(settings.segmentBytes, needed)
    self.header = header
    self.header.length = capacity
    self.pool = pool
    if let pool {
      memory = try pool.take(capacity)
    } else {
      memory = try SegmentMemory(capacity: capacity, places: settings.indexSlots)
    }
    base = memory.base
    index = SegmentIndex(in: memory.places)
    self.header.write(to: base)
  }

  deinit {
    index.deallocate()
    staged.deallocate()
    pool?.giveBack(memory)
  }

  /// How many bytes have room.
  var capacity: Int { memory.capacity }

  /// Its number.
  var number: UInt64 { header.number }

  /// Gives back the memory behind the commits.
  func releaseUnused() { memory.release(from: end) }

  /// Lets it follow the segment of that number, which has no seal and ends at `end`; the file is the caller's to write.
  func follow(_ number: UInt64, endingAt end: Int) {
    header.predecessor = number
    header.predecessorEnd = end
    header.write(to: base)
  }

  /// Whether nothing was committed to it.
  var isEmpty: Bool { end == LogFrame.fileHeader }

  /// Whether a commit of so many bytes fits, and the seal behind it.
  func hasRoom(for payload: Int) -> Bool { end + 2 * LogFrame.header + payload <= capacity }

  /// Puts a frame behind the commits, where it is not one of them yet.
  func stage(_ payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    if let start = payload.baseAddress {
      (base + end + LogFrame.header).copyMemory(from: start, byteCount: payload.count)
    }
    LogFrame.writeHeader(.commit, at: end, length: payload.count, number: number, durable: durable, in: base)
    return UnsafeRawBufferPointer(start: base + end, count: LogFrame.header + payload.count)
  }

  /// Makes a commit, which does not count yet, of the frame that was staged.
  func keep(_ frame: UnsafeRawBufferPointer) { end += frame.count }

  /// Forgets the commits that do not count yet.
  func dropUncounted() { end = used }

  /// Puts a seal or a mark behind the commits, where it is none of them.
  func stageNote(_ kind: LogFrame.Kind) -> UnsafeRawBufferPointer {
    LogFrame.writeHeader(kind, at: end, length: 0, number: number, durable: durable, in: base)
    return UnsafeRawBufferPointer(start: base + end, count: LogFrame.header)
  }

  /// Calls `body` with the payload of each commit from `offset` on, in their order.
  func forEachCommit(from offset: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    var place = offset
    while place < end {
      let count = LogFrame.payload(at: place, in: base)
      body(UnsafeRawBufferPointer(start: base + place + LogFrame.header, count: count))
      place += LogFrame.header + count
    }
  }

  /// Lets the commits before `place` count.
  func accept(to place: Int) {
    while used < place { accept(payload: LogFrame.payload(at: used, in: base)) }
  }

  /// Takes up the next frame as it stands in a file, with a payload of so many bytes: it counts.
  func recover(payload: Int) {
    accept(payload: payload)
    end = used
    durable = used
  }

  /// Lets the next frame, with a payload of so many bytes, count.
  ///
  /// Keys and their places lie scattered over more memory than the processor's cache holds: some are fetched while others are worked on.
  private func accept(payload: Int) {
    var offset = used + LogFrame.header
    let end = offset + payload
    used = end
    while offset < end {
      var count = 0
      while offset < end, count < Self.atOnce {
        let key = SegmentWrite.key(at: offset, in: base)
        staged[count] = Staged(offset: offset, hash: index.begin(key), key: key)
        count += 1
        SegmentWrite.pass(&offset, in: base)
      }
      for place in 0..<count { index.approach(staged[place].hash, in: base) }
      for place in 0..<count { accept(staged[place]) }
    }
  }

  private func accept(_ write: Staged) {
    index.set(write.key, hash: write.hash, at: write.offset, in: base)
    if let kind = write.key.first, Self.orderedKinds.contains(kind) {
      ordered[kind, default: OrderedWrites()].set(write.key, at: write.offset, in: base)
    }
  }

  /// A write on its way into the index.
  private struct Staged {
    let offset: Int
    let hash: UInt64
    let key: UnsafeRawBufferPointer
  }

  /// How many writes are on their way together.
  private static let atOnce = 16

  /// What the segment says about a key; the bytes are valid as long as the segment.
  func lookup(_ key: UnsafeRawBufferPointer) -> WriteLookup {
    let offset = index.find(key, in: base)
    guard offset != 0 else { return .absent }
    guard let value = SegmentWrite.value(at: offset, in: base) else { return .deleted }
    return .value(value)
  }

  /// The last writes on the keys of a scope, in order, and maybe on others; of all keys when there is none.
  func writes(in scope: KeyScope?) -> OrderedWrites {
    if let scope, Self.orderedKinds.contains(scope.kind) { return ordered[scope.kind] ?? OrderedWrites() }
    var found: [UInt32] = []
    for slot in index.slots where slot.offset != 0 {
      if let scope, slot.kind != scope.kind || (scope.subject != 0 && slot.subject != scope.subject) { continue }
      found.append(slot.offset)
    }
    return OrderedWrites(sorted: SortedWrites.sort(found, in: base))
  }
}
