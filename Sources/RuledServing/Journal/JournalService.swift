import RuledCore
import RuledIO
import RuledJSON
package import RuledJournal
package import RuledStore
import RuledThreads
import RuledWire

/// The journal of a running daemon, and the requests that read it.
package final class JournalService: Sendable {
  package let journal: Journal
  let store: RocksStore
  /// Why the last maintenance failed; nil if it succeeded.
  let keeperError = Shared<String?>(nil)
  /// Requests that read it, which may take long.
  let readers = Errands(
    on: "ruled-journal", most: 4,
    RequestError(.overloaded, "the journal is being read by others; try again", retryAfter: 500),
    "the journal can't be read")

  /// The size in bytes from which on an answer takes no further entry.
  private static let mostBytes = 16 << 20

  package init(_ journal: Journal, of store: RocksStore) {
    self.journal = journal
    self.store = store
  }

  /// All entries: the files' entries, and committed ones that are not in the files yet.
  package var source: LiveJournal { LiveJournal(journal, of: store) }

  /// The problems for `health`, a sentence each.
  package var problems: [String] {
    var found: [String] = []
    if let failure = journal.failure {
      found.append(
        "the journal can't be written, and lacks what happened from sequence \(failure.gap.first) on: \(failure.reason)"
      )
    }
    if let error = keeperError.value { found.append("the journal can't be kept in order: \(error)") }
    return found
  }

  /// The damage of the journal for `health` and the log, a sentence each.
  package var damages: [String] {
    journal.damages.map {
      "the journal is damaged: \($0); all else is served: replace the disk if it fails; this ends when the file is removed (journal.keep) or "
        + "rewritten (forget)"
    }
  }

  /// Takes a snapshot before anything is evaluated, unless the entries to come can be replayed from an earlier one.
  func takeFirstSnapshot(now: Timestamp) throws(StoreError) {
    var range = JournalRange()
    let known = journal.summary.last
    range.first = known + 1
    var last = known
    try source.forEach(in: range) { entry in
      last = entry.sequence
      return true
    }
    let stored = try store.lastSequence()
    if journal.needsSnapshot(now: now) || stored > last {
      try journal.takeSnapshot(of: store, now: now)
    }
  }

  /// The gaps of the journal, and its part that can't be replayed.
  var gaps: [JournalGap] {
    let source = source
    let committed = (try? store.lastSequence()) ?? 0
    return source.gaps + [source.withoutBase(through: committed)].compactMap { $0 }
  }

  var health: JSONValue {
    let (summary, figures) = (journal.summary, journal.figures)
    return .object([
      "first": .integer(Int64(clamping: summary.first)), "last": .integer(Int64(clamping: summary.last)),
      "since": summary.since.map { .string($0.rfc3339) } ?? .null, "files": .integer(Int64(figures.files)),
      "bytes": .integer(Int64(figures.bytes)), "gaps": .integer(Int64(gaps.count)),
      "snapshots": .integer(Int64(journal.snapshots.count)),
    ])
  }

  /// The result of `log`, `{entries, gaps, next, last}`.
  ///
  /// It has the entries that `params` selects, the oldest first; `last` is the last sequence read.
  func log(_ params: LogParams, now: Timestamp) throws(RequestError) -> [UInt8] {
    let query = LogQuery(params, now: now)
    let text = ByteBuffer(capacity: 64 << 10)
    text.append("{\"entries\":[")
    let start = text.count
    var count = 0
    var (first, last): (UInt64?, UInt64?) = (nil, nil)
    var isCut = false
    let source = source
    var committed: UInt64 = 0
    do throws(StoreError) {
      committed = try store.lastSequence()
      try source.forEach(in: query.range) { entry in
        guard query.wants(entry) else { return true }
        guard count < params.limit, text.count < Self.mostBytes else {
          isCut = true
          return false
        }
        if text.count > start { text.append(UInt8(ascii: ",")) }
        entry.write(to: text)
        first = first ?? entry.sequence
        last = entry.sequence
        count += 1
        return true
      }
    } catch { throw RequestError(.unavailable, "the journal can't be read: \(error)") }
    text.append("],\"gaps\":")
    let shown = gaps.filter { !$0.isListed || $0.last >= first ?? .max && $0.first <= last ?? 0 }
    JSONValue.array(shown.map(\.json)).write(to: text)
    if isCut, let last {
      text.append(",\"next\":")
      text.append(decimal: Int64(clamping: last))
    }
    text.append(",\"last\":")
    text.append(decimal: Int64(clamping: isCut ? last ?? 0 : max(last ?? 0, committed, query.range.first - 1)))
    text.append("}")
    return Array(text.bytes)
  }

  /// Flushes all commits to the journal's files, and returns the files' `summary`.
  func bringUpToDate() throws(RequestError) -> [UInt8] {
    do throws(StoreError) { try store.flushAll() } catch {
      throw RequestError(.unavailable, "the log can't be brought into the journal: \(error)")
    }
    return Array(JSONValue.object(summary).text.utf8)
  }

  /// The contents of the files: `{folder, first, last, since, until, gaps, snapshots}`.
  private var summary: JSONObject {
    let found = journal.summary
    func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.rfc3339) } ?? .null }
    return [
      "folder": .string(journal.folder.realPath ?? journal.folder), "first": .integer(Int64(clamping: found.first)),
      "last": .integer(Int64(clamping: found.last)), "since": time(found.since), "until": time(found.until),
      "gaps": .array(gaps.map(\.json)),
      "snapshots": .array(
        journal.snapshots.map { snapshot in
          .object([
            "sequence": .integer(Int64(clamping: snapshot.sequence)), "at": .string(snapshot.at.rfc3339),
            "path": .string(snapshot.path.realPath ?? snapshot.path),
          ])
        }),
    ]
  }
}
