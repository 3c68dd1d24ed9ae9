internal import CLinux
package import RuledCore

/// The writes of one batch.
package struct LoggedCommit {
  let payload: ByteView

  /// Calls `body` with each write and each record for the journal, in their order.
  func forEach(_ body: (WriteOperation) -> Void) {
    guard let base = payload.baseAddress else { return }
    var offset = 0
    while offset < payload.count { body(WriteRecords.operation(in: base, at: &offset)) }
  }

  /// How many bytes ahead are prefetched: records are further apart than the processor prefetches by itself.
  private static let prefetchedBytes = 4096
  private static let cacheLine = 64

  /// Replaces `found` with the records for the journal, in their order; valid as long as the commit.
  ///
  /// - Returns: The number that the commit puts under the key `sequence`; nil when it puts none.
  package func findJournaled(_ found: inout [JournaledWrites], sequence: ByteView) -> UInt64? {
    found.removeAll(keepingCapacity: true)
    guard let base = payload.baseAddress else { return nil }
    var number: UInt64?
    var writes = JournaledWrites()
    var offset = 0
    var prefetched = 0
    while offset < payload.count {
      while prefetched < offset + Self.prefetchedBytes {
        cl_prefetch(base + prefetched)
        prefetched += Self.cacheLine
      }
      switch WriteRecords.operation(in: base, at: &offset) {
      case .delete: break
      case .put(let key, let value):
        switch key.first {
        case StoreKey.Kind.outcome.rawValue:
          writes.outcomeKey = key
          writes.outcome = value
        case StoreKey.Kind.record.rawValue:
          writes.recordKey = key
          writes.record = value
        case StoreKey.Kind.daemon.rawValue where value.count == 8 && ByteOrder.equal(key, sequence):
          number = UInt64(bigEndian: value.load(at: 0, as: UInt64.self))
        default: break
        }
      case .journal(let head, let text):
        writes.head = head
        writes.text = text
        found.append(writes)
        writes = JournaledWrites()
      }
    }
    return number
  }
}

/// A record for the journal, and its event's writes, of which the journal makes the rest of the entry; missing ones are empty.
package struct JournaledWrites {
  /// The head that the journal wrote.
  package fileprivate(set) var head = ByteView.empty
  package fileprivate(set) var text = ByteView.empty
  package fileprivate(set) var outcomeKey = ByteView.empty
  package fileprivate(set) var outcome = ByteView.empty
  package fileprivate(set) var recordKey = ByteView.empty
  package fileprivate(set) var record = ByteView.empty
}
