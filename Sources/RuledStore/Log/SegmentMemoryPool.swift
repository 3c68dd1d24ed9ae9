import Synchronization

/// Memory of removed segments, for later ones: memory that was touched before costs no page faults.
final class SegmentMemoryPool: Sendable {
  private static let mostSpare = 2

  private let settings: LogSettings
  private let spare = Mutex<[SegmentMemory]>([])

  init(_ settings: LogSettings) { self.settings = settings }

  /// Memory for `capacity` bytes, used before or new.
  func take(_ capacity: Int) throws(StoreError) -> SegmentMemory {
    guard capacity == settings.segmentBytes, let memory = spare.withLock({ $0.popLast() }) else {
      return try SegmentMemory(capacity: capacity, slots: settings.indexSlots)
    }
    memory.clear()
    return memory
  }

  /// Keeps memory for later, if it is of the usual size.
  func recycle(_ memory: SegmentMemory) {
    guard memory.capacity == settings.segmentBytes else { return }
    spare.withLock { if $0.count < Self.mostSpare { $0.append(memory) } }
  }

  func removeAll() { spare.withLock { $0.removeAll() } }
}
