import RuledCore
import RuledEngine
import RuledJSON
import RuledJournal
import RuledStore

extension WatchHub {
  /// The bytes from which on a chunk of past changes is complete.
  private static let pastChunkBytes = 64 << 10

  /// Continues after the sequence `last` with the journal's changes up to it: those of earlier processes, and those of other nodes of a cluster.
  ///
  /// Call it before the first publication.
  func begin(after last: UInt64, changesOf journal: LiveJournal) throws(StoreError) {
    var next = try journal.firstChange(through: last, count: Limits.watchHistory, byteCount: Limits.watchHistoryBytes)
    var chunks = [Chunk(first: next, log: ChangeLog())]
    let document = TapeDocument()
    /// Returns the chunk for the change `sequence`, after adding the missing ones before it, whose subjects were forgotten.
    func log(for sequence: UInt64) -> ChangeLog {
      if chunks[chunks.count - 1].log.bytes.count >= Self.pastChunkBytes {
        chunks.append(Chunk(first: next, log: ChangeLog()))
      }
      let log = chunks[chunks.count - 1].log
      while next < sequence {
        log.appendUnseen()
        next += 1
      }
      return log
    }
    let areAllRead = try journal.forEachChange(from: next, through: last) { change in
      let isWhole = log(for: change.sequence).append(change, document)
      next += 1
      if !isWhole { chunks = [Chunk(first: next, log: ChangeLog())] }
    }
    // The next attempt begins behind the damage that this one has found.
    guard areAllRead else { return try begin(after: last, changesOf: journal) }
    _ = log(for: last + 1)
    begin(after: last, chunks.filter { !$0.log.isEmpty })
  }
}

extension ChangeLog {
  /// Adds a change of the journal, whose event `document` parses; false if the journal lacks some of it.
  fileprivate func append(_ change: JournaledChange, _ document: TapeDocument) -> Bool {
    switch change.origin {
    case .forget: append(forgotten: change.subject)
    case .rules: appendUnseen()
    case .client, .message, .timer, .retry, .kept:
      guard let plugins = change.plugins, let event = try? document.parse(copyOf: change.event),
        let id = change.id ?? event.member("id")?.string, let type = event.member("type")?.string
      else { return false }
      append(change.outcome, of: change.subject, id: id, type: type) { $0.append(plugins) }
    }
    return true
  }
}
