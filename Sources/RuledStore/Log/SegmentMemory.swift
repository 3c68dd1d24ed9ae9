import Glibc

/// The memory of one segment and of its index.
final class SegmentMemory: Sendable {
  nonisolated(unsafe) let base: UnsafeMutableRawPointer
  /// The slots of the index, free ones when it is new.
  nonisolated(unsafe) let slots: UnsafeMutableBufferPointer<SegmentIndex.Slot>
  /// In bytes.
  let capacity: Int

  /// Memory for `capacity` bytes, whole pages, and an index of `count` slots; the kernel gives pages of both when they are touched.
  init(capacity: Int, slots count: Int) throws(StoreError) {
    guard let table = SegmentIndex.table(count) else { throw Self.missing }
    guard let memory = mmap(nil, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
      memory != MAP_FAILED
    else {
      free(table.baseAddress)
      throw Self.missing
    }
    base = memory
    slots = table
    self.capacity = capacity
  }

  private static var missing: StoreError {
    StoreError.system("there is no memory for the store's log; raise the limit on it (ulimit -v, MemoryMax=)", errno)
  }

  deinit {
    munmap(base, capacity)
    free(slots.baseAddress)
  }

  /// Frees all slots of the index.
  func clear() { slots.update(repeating: SegmentIndex.Slot(offset: 0, hash: 0, subject: 0, kind: 0)) }

  /// Releases the pages of the segment behind `offset`.
  func release(from offset: Int) {
    let page = (offset + LogFrame.block - 1) & ~(LogFrame.block - 1)
    if page < capacity { madvise(base + page, capacity - page, MADV_DONTNEED) }
  }
}
