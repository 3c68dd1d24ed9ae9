package import RuledCore

/// Writes that are committed together, in their order.
///
/// Rules fill it, and it is truncated to a mark when one fails. A write allocates nothing unless the buffer has to grow, and the set keeps its buffer.
package final class WriteSet: @unchecked Sendable {  // one thread owns a set at a time
  /// A position between two writes.
  package struct Mark: Sendable {
    fileprivate let used: Int
    fileprivate let count: UInt32

    static let start = Mark(used: 0, count: 0)
  }

  private var content: WriteRecords
  /// Filled when a key is looked up among many writes.
  private var index = WriteIndex()
  /// How many writes are searched one by one at most.
  private static let few = 32

  /// In bytes.
  package var capacity: Int { content.capacity }

  package init(capacity: Int = 1024) { content = WriteRecords(capacity: capacity) }

  deinit { content.deallocate() }

  package var isEmpty: Bool { @_effects(releasenone) get { content.count == 0 } }

  package var count: Int { Int(content.count) }

  /// How many bytes the writes take, keys, values and lengths.
  package var byteCount: Int { @_effects(releasenone) get { content.used } }

  package var mark: Mark {
    @_effects(releasenone) get { Mark(used: content.used, count: content.count) }
  }

  /// The bytes of the writes; valid until the set changes.
  package var records: ByteView { ByteView(start: content.base, count: content.used) }

  @_effects(releasenone)
  package func put(_ key: ByteView, _ value: ByteView) { content.append(.put, key, value) }

  @_effects(releasenone)
  package func delete(_ key: ByteView) { content.append(.delete, key) }

  /// The write that begins at an offset: `byteCount` before it was added.
  package func write(at offset: Int) -> WriteOperation? {
    var offset = offset
    return content.operation(at: &offset)
  }

  /// Sets the last eight bytes of the value that a write puts, which begins at an offset.
  package func setEnd(ofWriteAt offset: Int, to number: UInt64) { content.setEnd(ofRecordAt: offset, to: number) }

  /// Adds a record for the journal about the writes before it: `head` is laid out by the journal, `text` is an event.
  ///
  /// - Complexity: O(1) amortized, besides copying the bytes.
  @_effects(releasenone)
  package func journal(_ head: ByteView, _ text: ByteView) {
    content.append(.journal, head, text)
  }

  /// Adds the writes of `other`, another set, behind these.
  ///
  /// - Complexity: one copy of the bytes of `other`.
  package func append(_ other: WriteSet) {
    precondition(other !== self, "a set is not added to itself")
    content.append(other.content)
  }

  /// Adds the writes whose bytes `records` gave for another set; false, with nothing added, if these are no whole writes.
  package func append(records: ByteView) -> Bool { content.append(records: records) }

  /// Removes all writes and keeps the memory.
  package func removeAll() { truncate(to: .start) }

  package func truncate(to mark: Mark) {
    if mark.used == 0 { index.removeAll() } else { index.truncate(to: mark.used) }
    content.truncate(used: mark.used, count: mark.count)
  }

  /// Calls `body` with each write after `mark`, in their order.
  package func forEach(from mark: Mark = .start, _ body: (WriteOperation) -> Void) {
    var offset = mark.used
    while let operation = content.operation(at: &offset) { body(operation) }
  }

  /// The last write on `key`.
  ///
  /// - Complexity: O(1) amortized: the writes since the last look-up are indexed first.
  package func lookup(_ key: ByteView) -> WriteLookup {
    var found: WriteOperation?
    if content.count > Self.few {
      index.add(from: content)
      found = index.find(key, in: content)
    } else {
      var offset = 0
      while let operation = content.operation(at: &offset) {
        if ByteOrder.equal(operation.key, key) { found = operation }
      }
    }
    switch found {
    case .put(_, let value): return .value(value)
    case .delete: return .deleted
    case .journal, nil: return .absent
    }
  }
}

/// The last write of a set on a key.
package enum WriteLookup {
  /// There is none: the store knows.
  case absent
  case deleted
  /// It put these bytes, which are valid until the set changes.
  case value(ByteView)
}
