import CLinux
import Glibc
import RuledCore
import RuledThreads

/// The memory of one segment and of its index.
final class SegmentMemory: Sendable {
  /// The first byte.
  nonisolated(unsafe) let base: UnsafeMutableRawPointer
  /// The places of the index, free ones when it is new.
  nonisolated(unsafe) let places: UnsafeMutableBufferPointer<SegmentIndex.Slot>
  /// How many bytes have room.
  let capacity: Int

  /// Memory for so many bytes, whole pages, and an index of so many places, which takes none before it is touched.
  init(capacity: Int, places count: Int) throws(StoreError) {
    guard let table = SegmentIndex.table(count) else { throw Self.missing }
    guard let memory = mmap(nil, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
      memory != MAP_FAILED
    else {
      free(table.baseAddress)
      throw Self.missing
    }
    base = memory
    places = table
    self.capacity = capacity
  }

  private static var missing: StoreError {
    StoreError.system("there is no memory for the store's log; raise the limit on it (ulimit -v, MemoryMax=)", errno)
  }

  deinit {
    munmap(base, capacity)
    free(places.baseAddress)
  }

  /// Frees all places of the index.
  func clear() { places.update(repeating: SegmentIndex.Slot(offset: 0, hash: 0, subject: 0, kind: 0)) }

  /// Gives back what was touched of the segment from `offset` on, but for the rest of the page there.
  func release(from offset: Int = 0) {
    let page = (offset + LogFrame.block - 1) & ~(LogFrame.block - 1)
    if page < capacity { madvise(base + page, capacity - page, MADV_DONTNEED) }
  }
}

/// Memory of segments that are gone, for those to come: memory that has been touched costs nothing to touch again.
final class SegmentMemoryPool: @unchecked Sendable {  // guarded by `lock`
  /// How many are kept.
  private static let most = 2

  private let lock = Condition()
  private let settings: LogSettings
  private var kept: [SegmentMemory] = []

  /// A pool that keeps memory for segments of the usual size.
  init(_ settings: LogSettings) { self.settings = settings }

  /// Memory for so many bytes, used before or new.
  func take(_ capacity: Int) throws(StoreError) -> SegmentMemory {
    guard capacity == settings.segmentBytes, let memory = lock.locked({ kept.popLast() }) else {
      return try SegmentMemory(capacity: capacity, places: settings.indexSlots)
    }
    memory.clear()
    return memory
  }

  /// Keeps memory that is no longer used, if it is of the usual size.
  func giveBack(_ memory: SegmentMemory) {
    guard memory.capacity == settings.segmentBytes else { return }
    lock.locked { if kept.count < Self.most { kept.append(memory) } }
  }

  /// Lets go of what it keeps.
  func empty() { lock.locked { kept.removeAll() } }
}
