import RuledCore

/// The writes that are to happen together, in their order.
///
/// Filled while rules run, added to the set of the commit when they have succeeded, cut back to a mark when they have
/// not. Nothing is allocated for a write but when the buffer grows, which it keeps.
package final class WriteSet: @unchecked Sendable {  // confined: one thread owns a set at a time
  /// A place between two writes, to come back to.
  package struct Mark: Sendable {
    fileprivate let used: Int
    fileprivate let records: UInt32

    /// The place before the first write of any set.
    package static let start = Mark(used: 0, records: 0)
  }

  private var batch: WriteBatch
  /// Filled when somebody looks a key up among many writes.
  private var index = WriteIndex()
  /// Up to so many writes are looked through.
  private static let few = 32

  /// How many bytes have room.
  package var capacity: Int { batch.capacity }

  /// An empty set with room for `capacity` bytes.
  package init(capacity: Int = 1024) { batch = WriteBatch(capacity: capacity) }

  deinit { batch.deallocate() }

  /// Whether nothing is to be written.
  package var isEmpty: Bool { batch.records == 0 }

  /// How many writes there are.
  package var count: Int { Int(batch.records) }

  /// How many bytes the writes take, keys, values and lengths.
  package var byteCount: Int { batch.used }

  /// The place behind the last write.
  package var mark: Mark { Mark(used: batch.used, records: batch.records) }

  /// The records of the writes, one behind the other; valid until the set changes.
  var records: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: batch.base, count: batch.used) }

  /// Puts `value` under `key`.
  ///
  /// - Complexity: O(1) amortized, besides copying the bytes.
  package func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) { batch.append(.put, key, value) }

  /// Removes what stands under `key`, if anything does.
  package func delete(_ key: UnsafeRawBufferPointer) { batch.append(.delete, key) }

  /// Adds the writes of `other`, another set, behind these.
  ///
  /// - Complexity: one copy of the bytes of `other`.
  package func append(_ other: WriteSet) {
    precondition(other !== self, "a set is not added to itself")
    batch.append(other.batch)
  }

  /// Forgets the writes and keeps the room.
  package func removeAll() { truncate(to: .start) }

  /// Forgets the writes after `mark`, which must have been taken from this set and lie before its end.
  package func truncate(to mark: Mark) {
    if mark.used == 0 { index.removeAll() } else { index.truncate(to: mark.used) }
    batch.truncate(used: mark.used, records: mark.records)
  }

  /// Calls `body` with each write after `mark`, in their order.
  package func forEach(from mark: Mark = .start, _ body: (WriteOperation) -> Void) {
    var offset = mark.used
    while let operation = batch.record(at: &offset) { body(operation) }
  }

  /// What the writes leave under `key`.
  ///
  /// - Complexity: O(1) amortized: the writes that have come since the last look are indexed first.
  package func lookup(_ key: UnsafeRawBufferPointer) -> WriteLookup {
    var found: WriteOperation?
    if batch.records > Self.few {
      index.add(from: batch)
      found = index.find(key, in: batch)
    } else {
      var offset = 0
      while let operation = batch.record(at: &offset) {
        if ByteOrder.equal(operation.key, key) { found = operation }
      }
    }
    switch found {
    case .put(_, let value): return .value(value)
    case .delete: return .deleted
    case nil: return .absent
    }
  }
}
