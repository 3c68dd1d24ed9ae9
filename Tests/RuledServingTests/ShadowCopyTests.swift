import RuledCore
import RuledEngine
import RuledIO
import TestSupport
import Testing

@testable import RuledJournal
@testable import RuledServing
@testable import RuledStore

/// The copy of the store that a shadow's world begins with.
struct ShadowCopyTests {
  private let folder = TemporaryFolder()
  private static let marker = Array("hidden 8d1f40c2b7".utf8)

  @Test func `bytes of a subject that was forgotten before a shadow began leave the shadow's files too`() throws {
    let journal = Journal(of: folder("store"), settings: .init())
    let store = try RocksStore(path: folder("store"), journal: journal)
    let key = StoreKey.bytes { StoreKey.record(Array("ada".utf8), into: $0) }
    try commit(1, nil, to: store) { writes in
      key.withView { key in Self.marker.withView { writes.put(key, $0) } }
    }
    try store.flushAll()
    try commit(2, .forget, to: store) { writes in key.withView { writes.delete($0) } }
    let before = try StoreCopy.snapshot(of: store, in: journal.folder, name: "before").copy
    #expect(try !files(before.folder).isEmpty, "the copy of a store has the bytes")
    let shadow = try Shadow(
      .init(ServerRig.catalog(), from: .rollout), percent: 100, JournalService(journal, of: store),
      EngineContext(store: store, clock: EngineClock(), configuration: .init(), log: RecordingLog()),
      priority: .normal, erasingEvery: 0, besides: { nil })
    let copy = before.folder.dropLast("before".count) + "shadow"
    #expect(eventually { (try? files(String(copy)).isEmpty) ?? false }, "no file of the shadow has them")
    #expect(shadow.figures.isUp)
    shadow.stop(within: nil)
    try store.close()
  }

  /// Commits a change, with the entry that the journal has of it.
  private func commit(
    _ sequence: UInt64, _ origin: JournalEntry.Origin?, to store: RocksStore, _ change: (WriteSet) -> Void
  ) throws {
    let writes = WriteSet()
    change(writes)
    let (number, head) = (ByteBuffer(), ByteBuffer())
    number.append(bigEndian: sequence)
    StoreKey.bytes { StoreKey.daemon(StoreKey.sequenceName, into: $0) }.withView { writes.put($0, number.bytes) }
    if let origin {
      EntryHead.write(origin, at: 1, now: 1, into: head)
      Array("ada".utf8).withView { writes.journal(head.bytes, $0) }
    }
    try store.commit(writes, durable: true)
  }

  /// The tables below a folder that have the marker; all else of a copy is younger than the marker.
  private func files(_ folder: String) throws -> [String] {
    try BackupFiles.list(folder).map(\.name).filter { name in
      guard name.hasSuffix(".sst") else { return false }
      let file = try SystemFiles().open("\(folder)/\(name)", .read)
      var bytes = [UInt8](repeating: 0, count: try file.size())
      try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
      return bytes.contains(Self.marker)
    }
  }
}
