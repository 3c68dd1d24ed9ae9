internal import RuledCore

/// The commits that one segment of the log holds, for the journal; nothing in them changes.
package struct LoggedCommits: Sendable {
  private let segment: Segment
  /// Where the commits end in the segment.
  private let end: Int

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
