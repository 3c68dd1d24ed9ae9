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

  /// The sequence of the last change in them; nil when there is none.
  var lastSequence: UInt64? {
    var last: UInt64?
    StoredValue.sequence.key.withView { key in
      forEach { commit in
        commit.forEach { operation in
          if case .put(let found, let value) = operation, ByteOrder.equal(found, key) { last = value.number ?? last }
        }
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
