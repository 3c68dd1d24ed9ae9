import Synchronization

/// Memory that the connections of all loops share: for incomplete long lines, or for unsent output.
///
/// Only the bytes beyond a connection's own share count, so that short lines and replies never wait for memory.
package final class MemoryBudget: Sendable {
  private let reserved = Atomic<Int>(0)
  private let limit: Int

  package init(_ limit: Int) { self.limit = limit }

  var reservedBytes: Int { reserved.load(ordering: .relaxed) }

  /// Reserves `count` bytes; false when fewer are left.
  func reserve(_ count: Int) -> Bool {
    if reserved.wrappingAdd(count, ordering: .relaxed).newValue <= limit { return true }
    release(count)
    return false
  }

  func release(_ count: Int) { reserved.wrappingSubtract(count, ordering: .relaxed) }
}

/// A connection's part of a budget, for its unsent output.
package struct OutputMemory {
  /// The bytes that each connection may leave unsent without a reservation.
  static let own = 1 << 20

  private let budget: MemoryBudget
  private var reserved = 0

  package init(_ budget: MemoryBudget) { self.budget = budget }

  /// Makes the reservation fit `unsent` bytes; false if the other connections have taken the rest of the budget.
  package mutating func cover(_ unsent: Int) -> Bool {
    let more = max(0, unsent - Self.own) - reserved
    guard more != 0 else { return true }
    if more < 0 { budget.release(-more) }
    guard more < 0 || budget.reserve(more) else { return false }
    reserved += more
    return true
  }
}
