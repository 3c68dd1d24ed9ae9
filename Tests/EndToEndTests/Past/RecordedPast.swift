import RuledCore
import RuledEngine
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import TestSupport

/// The journal and the revisions of a daemon that has ended, and their replay.
struct RecordedPast {
  let entries: [JournalEntry]
  let snapshots: [JournalSnapshot]
  /// What the journal does not have.
  let gaps: [JournalGap]
  private let revisions: RevisionArchive
  private let folder: String

  /// What is in a store's folder.
  init(store: String) throws {
    folder = "\(store)/journal"
    let journal = try FolderJournal(folder: folder)
    var entries: [JournalEntry] = []
    try journal.forEach(in: JournalRange()) { entry in
      entries.append(entry)
      return true
    }
    self.entries = entries
    (snapshots, gaps) = (journal.snapshots, journal.gaps)
    revisions = RevisionArchive(folder: "\(store)/revisions")
  }

  /// Replays the entries after a snapshot, or all of them from nothing, after `change`; tells the first difference.
  func difference(
    after snapshot: JournalSnapshot? = nil, change: (inout [JournalEntry]) throws -> Void = { _ in }
  ) throws -> String? {
    var played = entries.filter { $0.sequence > snapshot?.sequence ?? 0 }
    try change(&played)
    guard let first = played.first(where: { !$0.revision.isEmpty }), let last = played.last else {
      return "there is nothing to replay"
    }
    let lua = LuaWorker()
    var catalogs: [String: Catalog] = [:]
    func catalog(_ revision: String) throws -> Catalog {
      if let known = catalogs[revision] { return known }
      let content = try revisions.load(revision)
      let catalog = try CatalogBuilder.build(
        content.rules, configuration: content.configuration, previous: nil, worker: lua, now: first.at)
      catalogs[revision] = catalog
      return catalog
    }
    let copy = try snapshot.map { try StoreCopy(of: $0.path, in: folder, name: "test") }
    let base: any StateStore = try copy.map { try RocksStore(path: $0.folder) } ?? MemoryStore()
    defer { try? base.close() }
    let world = try World(
      rules: try catalog(first.revision), lua: lua, base: base, recorded: RecordedHistory(played))
    for entry in played {
      if !entry.revision.isEmpty { world.adopt(try catalog(entry.revision)) }
      let results = try world.play(entry).map(\.entry)
      let expected = entry.isEvent ? [entry] : []
      guard results.map(Self.outcome) == expected.map(Self.outcome) else {
        return "entry \(entry.sequence): \(Self.describe([entry])) became \(Self.describe(results))"
      }
    }
    let more = try world.finish(at: last.at).map(\.entry)
    return more.isEmpty ? nil : "after the range: \(Self.describe(more))"
  }

  /// An entry without the event's text, which loses its sender when a parked message is retried.
  private static func outcome(_ entry: JournalEntry) -> JournalEntry { entry.with(event: []) }

  private static func describe(_ entries: [JournalEntry]) -> String {
    entries.map { entry in
      func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
      return "{\(entry.origin) \(entry.subject) v\(entry.version) \(entry.at) \(entry.now) \(text(entry.event)) "
        + "decisions \(text(entry.decisions)) effects \(text(entry.effects)) failures \(text(entry.failures)) "
        + "\(entry.digests) \(entry.consequences) \(entry.plugin) \(entry.timer)}"
    }.joined(separator: "\n")
  }
}
