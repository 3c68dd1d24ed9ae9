internal import CLinux
package import RuledCore

/// The commits that one segment of the log holds, for the journal; nothing in them changes.
package struct LoggedCommits: Sendable {
  private let segment: Segment
  /// Where the commits end in the segment.
  private let end: Int

  /// The commits of `segment` before `end`.
  init(_ segment: Segment, end: Int) {
    self.segment = segment
    self.end = end
  }

  /// The number of the segment, which no other one of this log has had or will have.
  package var number: UInt64 { segment.number }

  /// The number that the last write under `key` puts; nil when there is none.
  func lastSequence(_ key: ByteView) -> UInt64? {
    var last: UInt64?
    forEach { commit in
      commit.forEach { operation in
        guard case .put(let found, let value) = operation, value.count == 8, ByteOrder.equal(found, key) else { return }
        last = UInt64(bigEndian: value.load(at: 0, as: UInt64.self))
      }
    }
    return last
  }

  /// Calls `body` with each commit, in their order; its bytes are valid as long as this value.
  package func forEach(_ body: (LoggedCommit) -> Void) {
    forEach(from: nil) { commit, _ in
      body(commit)
      return true
    }
  }

  /// Calls `body` with each commit and where it begins until it returns false; `start` is where an earlier call has found one, nil for the first.
  package func forEach(from start: Int?, _ body: (LoggedCommit, Int) -> Bool) {
    segment.forEachCommit(from: start, before: end) { body(LoggedCommit(payload: $0), $1) }
  }
}

/// What one batch wrote.
package struct LoggedCommit {
  fileprivate let payload: ByteView

  /// Calls `body` with each write and each record for the journal, in their order.
  fileprivate func forEach(_ body: (WriteOperation) -> Void) {
    guard let base = payload.baseAddress else { return }
    var offset = 0
    while offset < payload.count { body(WriteRecords.record(in: base, at: &offset)) }
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
      switch WriteRecords.record(in: base, at: &offset) {
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

/// A record for the journal, and the writes of its event from which the rest of the entry is made; those that are missing are empty.
package struct JournaledWrites {
  /// The head that the journal wrote.
  package fileprivate(set) var head = ByteView.empty
  package fileprivate(set) var text = ByteView.empty
  /// The key of the remembered outcome.
  package fileprivate(set) var outcomeKey = ByteView.empty
  package fileprivate(set) var outcome = ByteView.empty
  /// The key of the subject's record.
  package fileprivate(set) var recordKey = ByteView.empty
  package fileprivate(set) var record = ByteView.empty
}

/// Consumes the journal's records in sealed segments of the log, before the segments are reused.
package protocol SegmentConsumer: AnyObject, Sendable {
  /// Consumes the commits of a sealed segment.
  ///
  /// Called on the store's own thread, the earliest segment first. A segment may come again after a crash. It does not throw: a journal
  /// that can't be written must not keep the log from being flushed to the database.
  func consume(_ commits: LoggedCommits)

  /// Consumes what was saved of a segment of a damaged log; `last` is the sequence of the last change before it.
  func consume(salvaged commits: LoggedCommits, after last: UInt64)
}
