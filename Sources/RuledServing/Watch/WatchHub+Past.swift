import RuledCore
import RuledEngine
import RuledJSON
import RuledJournal
import RuledStore

extension WatchHub {
  /// From how many bytes on a chunk of past changes is complete.
  private static let pastChunkBytes = 64 << 10

  /// Continues after the sequence `last` with the changes up to it that the journal has: those of earlier processes, and those that other nodes
  /// of a cluster have committed.
  ///
  /// To be called before anything is published.
  func begin(after last: UInt64, changesOf journal: LiveJournal) throws(StoreError) {
    var next = try journal.firstChange(through: last, count: Limits.watchHistory, byteCount: Limits.watchHistoryBytes)
    var chunks = [Chunk(first: next, log: ChangeLog())]
    let document = TapeDocument()
    /// Gives the chunk for the change `sequence`, after those before it that are missing: they are of subjects that were forgotten.
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
    try journal.forEachChange(from: next, through: last) { change in
      let isWhole = log(for: change.sequence).append(change, document)
      next += 1
      if !isWhole { chunks = [Chunk(first: next, log: ChangeLog())] }
    }
    _ = log(for: last + 1)
    begin(after: last, chunks.filter { !$0.log.isEmpty })
  }
}

extension ChangeLog {
  /// Adds a change that the journal has, whose event `document` parses; false if that lacks what watchers get.
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
