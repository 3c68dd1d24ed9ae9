import RuledEngine

/// A queue of the timers that only a world has, ordered by when they are due.
///
/// Timers that are due at the same time are in the order of their keys in the store.
struct OwnTimers {
  private var heap: [DueTimer] = []

  /// Adds a timer; one that is added twice is in the queue twice.
  mutating func add(_ timer: DueTimer) {
    heap.append(timer)
    var child = heap.count - 1
    while child > 0, heap[child] < heap[(child - 1) / 2] {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Removes and returns the timer that is due first; nil if it is due after `time`, in microseconds.
  mutating func takeFirst(dueBy time: Int64) -> DueTimer? {
    guard let first = heap.first, first.due <= time else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var parent = 0
    while true {
      let left = 2 * parent + 1
      guard left < heap.count else { return first }
      let child = left + 1 < heap.count && heap[left + 1] < heap[left] ? left + 1 : left
      guard heap[child] < heap[parent] else { return first }
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
