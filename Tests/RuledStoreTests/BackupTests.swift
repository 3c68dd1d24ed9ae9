import Glibc
import RuledCore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledStore

@Suite struct BackupTests {
  private let folder = TemporaryFolder()

  private var live: String { folder("live") }
  private var backups: String { folder("backups") }

  private func open(_ path: String, flushes: Bool = true) throws -> RocksStore {
    try RocksStore(path: path, blockCacheBytes: 1 << 20, flushes: flushes, settings: .small)
  }

  /// Takes a backup as `rulectl backup` does.
  @discardableResult
  private func backUp(_ store: RocksStore, second: Int64) throws -> BackupFolder.Summary {
    let time = Timestamp(microseconds: second * 1_000_000)
    let checkpoint = try StoreCheckpoints(of: store.path).make(of: store, at: time)
    let summary = try BackupFolder(backups).add(checkpoint, at: time) { _, _ in }
    try StoreCheckpoints.remove(checkpoint)
    return summary
  }

  private func restore(_ name: String, from backup: String? = nil) throws -> StoreRestore.Report {
    try StoreRestore(to: folder(name)).run(from: backup ?? backups) { _ in }
  }

  // MARK: Checkpoints

  @Test func `a checkpoint has the commits of the log and does not flush them`() throws {
    let store = try open(live, flushes: false)
    for round in 0..<200 { try store.put("r\(round)", String(repeating: "a", count: 1000), durable: round % 2 == 0) }
    let bytes = store.logBytes
    #expect(bytes > 3 * LogSettings.small.segmentBytes)
    try store.checkpoint(to: folder("copy"))
    #expect(store.logBytes == bytes)
    try store.put("r0", "later")
    let copy = try open(folder("copy"), flushes: false)
    #expect(try copy.pairs().count == 200)
    #expect(try copy.text("r0")?.utf8.count == 1000)
  }

  @Test func `a store that was a checkpoint goes on, and survives crashes and reused files of its log`() throws {
    let store = try open(live, flushes: false)
    for round in 0..<90 { try store.put("r\(round)", String(repeating: "a", count: 1000)) }
    try store.checkpoint(to: folder("copy"))
    let copy = try open(folder("copy"))
    for round in 90..<900 { try copy.put("r\(round)", String(repeating: "b", count: 1000), durable: true) }
    try copy.checkpoint(to: folder("second"))
    try copy.compact()
    for round in 900..<950 { try copy.put("r\(round)", String(repeating: "c", count: 1000), durable: true) }
    TemporaryFolder.copy(folder("copy"), to: folder("crashed"))
    #expect(try open(folder("crashed")).pairs().count == 950)
    #expect(try open(folder("second")).pairs().count == 900)
  }

  @Test func `checkpoints beside commits hold whole commits, and all that came before them`() throws {
    let store = try open(live)
    let isOver = Atomic(false)
    let committed = Atomic(0)
    let writer = try Thread(name: "writer") {
      var round = 0
      while !isOver.load(ordering: .relaxed) {
        round += 1
        let set = WriteSet()
        for key in ["ra", "rz", "m\(round % 7)"] { set.put(Array(key.utf8), Array("\(round)".utf8)) }
        set.put(Array("rpad\(round)".utf8), [UInt8](repeating: 1, count: 500))
        guard (try? store.commit(set, durable: round % 50 == 0)) != nil else { break }
        committed.store(round, ordering: .releasing)
      }
    }
    defer {
      isOver.store(true, ordering: .relaxed)
      writer.join()
    }
    for round in 1...12 {
      try #require(eventually { committed.load(ordering: .acquiring) >= round * 90 })
      let before = committed.load(ordering: .acquiring)
      try store.checkpoint(to: folder("copy\(round)"))
      let copy = try open(folder("copy\(round)"), flushes: false)
      let last = try Int(#require(try copy.text("ra")))
      #expect(try copy.text("rz") == "\(last ?? 0)")
      #expect(last.map { $0 >= before } == true)
      #expect(try copy.pairs().filter { $0.key.starts(with: Array("rpad".utf8)) }.count == last)
    }
  }

  @Test func `an abandoned checkpoint is removed, one in use is not`() throws {
    let store = try open(live)
    let checkpoints = StoreCheckpoints(of: live)
    let path = try checkpoints.make(of: store, at: Timestamp(microseconds: 1))
    var use = try FolderUse(path, alone: false)
    #expect(use != nil)
    #expect(try !checkpoints.removeAbandoned())
    use = nil
    #expect(try checkpoints.removeAbandoned())
    #expect(access(path, F_OK) != 0)
  }

  // MARK: Backups

  @Test func `a backup shares the files that did not change with the one before`() throws {
    let store = try open(live)
    for round in 0..<100 { try store.put("r\(round)", String(repeating: "a", count: 1000)) }
    try store.compact()
    let first = try backUp(store, second: 1)
    try store.put("rnew", "1")
    let second = try backUp(store, second: 2)
    let files = try BackupFiles.list(first.path).map(\.name).filter { $0.hasSuffix(".sst") }
    #expect(!files.isEmpty)
    for file in files {
      let inodes = try [first.path, second.path, live].map { try BackupFiles.status(of: "\($0)/\(file)").st_ino }
      #expect(Set(inodes).count == 1)
    }
    #expect(try BackupFolder.backups(in: backups) == ["19700101T000001.000Z", "19700101T000002.000Z"])
    #expect(try BackupFolder.find(backups) == backups + "/latest")
    #expect(try restore("a", from: first.path).subjects == 100)
    #expect(try restore("b").subjects == 101)
  }

  @Test func `a file of the same name and size that was written at another time is not shared`() throws {
    let store = try open(live)
    try store.put("ra", "1")
    try store.compact()
    let first = try backUp(store, second: 1)
    let file = try #require(try BackupFiles.list(first.path).map(\.name).first { $0.hasSuffix(".sst") })
    let target = "\(first.path)/\(file)"
    try BackupFiles.copy(target, to: folder("other"))
    utimes(folder("other"), nil)
    rename(folder("other"), target)
    let second = try backUp(store, second: 2)
    #expect(try BackupFiles.status(of: target).st_ino != BackupFiles.status(of: "\(second.path)/\(file)").st_ino)
  }

  @Test func `only the latest backups are kept, and unfinished ones do not count`() throws {
    let store = try open(live)
    try store.put("ra", "1")
    for second in 1...4 { try backUp(store, second: Int64(second)) }
    folder.makeFolder("backups/19700101T000009.000Z.unfinished")
    let removed = try BackupFolder(backups).keep(2)
    #expect(removed == ["19700101T000001.000Z", "19700101T000002.000Z"])
    #expect(try BackupFolder.backups(in: backups) == ["19700101T000003.000Z", "19700101T000004.000Z"])
    #expect(try restore("a").backup == backups + "/latest")
    unlink(backups + "/latest")
    #expect(try restore("b").backup == backups + "/19700101T000004.000Z")
    try backUp(store, second: 5)
    #expect(access(backups + "/19700101T000009.000Z.unfinished", F_OK) != 0)
  }

  @Test func `the store's own folder and those within it take no backup`() throws {
    let store = try open(live)
    defer { try? store.close() }
    let checkpoint = try StoreCheckpoints(of: live).make(of: store, at: Timestamp(microseconds: 1_000_000))
    #expect(symlink("live", folder("link")) == 0)
    let before = TemporaryFolder.names(live)
    for path in [live, "\(live)/", folder("link"), "\(live)/log", folder("link/log")] {
      let error = #expect(throws: StoreError.self) {
        try BackupFolder(path).add(checkpoint, at: Timestamp(microseconds: 1_000_000)) { _, _ in }
      }
      #expect(error?.message.contains("is in the store's own folder") == true)
    }
    #expect(TemporaryFolder.names(live) == before)
    _ = try BackupFolder(folder("live2")).add(checkpoint, at: Timestamp(microseconds: 1_000_000)) { _, _ in }
  }

  @Test func `copies that killed processes left are removed by their names, and no other folders`() throws {
    let left = ["replay-baseline-1", "replay-candidate-23"]
    let others = ["replay-baseline-x", "replay-other-5", "replay-baseline-"]
    for name in left + others { folder.write("\(name)/CURRENT", "x") }
    #expect(symlink("replay-other-5", folder("replay-baseline-6")) == 0)
    let used = try StoreCopy(of: nil, in: folder("."), name: "baseline-4")
    StoreCopy.removeAbandoned(["baseline", "candidate"], in: folder("."))
    let stay = others + ["replay-baseline-4", "replay-baseline-6"]
    #expect(TemporaryFolder.names(folder(".")).sorted() == stay.sorted())
    withExtendedLifetime(used) {}
  }

  @Test func `two backups are not written to one folder at once`() throws {
    let first = try BackupFolder(backups)
    let error = #expect(throws: StoreError.self) { try BackupFolder(backups) }
    #expect(error?.code == .inUse)
    withExtendedLifetime(first) {}
  }

  // MARK: Restoring

  @Test func `a store is restored to an empty folder or a new one, and nowhere else`() throws {
    let store = try open(live)
    try store.put("ra", "1", durable: true)
    try backUp(store, second: 1)
    folder.makeFolder("empty")
    #expect(try restore("empty").entries > 1)
    #expect(try open(folder("empty")).text("ra") == "1")
    let error = #expect(throws: StoreError.self) { try restore("empty") }
    #expect(error?.message.contains("is not empty: stop the daemon") == true)
    #expect(throws: StoreError.self) { try restore("a", from: folder("nothing")) }
    #expect(access(folder("a"), F_OK) != 0)
  }

  @Test(arguments: ["missing", "short", "damaged"])
  func `a backup that is not whole is refused, and nothing is left of it`(kind: String) throws {
    let store = try open(live)
    for round in 0..<100 { try store.put("r\(round)", String(repeating: "a", count: 1000)) }
    try store.compact()
    let backup = try backUp(store, second: 1).path
    let file = try #require(
      try BackupFiles.list(backup).filter { $0.name.hasSuffix(".sst") }.max { $0.bytes < $1.bytes })
    let path = "\(backup)/\(file.name)"
    switch kind {
    case "missing": unlink(path)
    case "short": truncate(path, off_t(file.bytes - 1))
    default: TemporaryFolder.flip(bit: 3, at: 100, of: path)
    }
    folder.makeFolder("empty")
    let error = #expect(throws: StoreError.self) { try restore("empty", from: backup) }
    #expect(error?.code == .corrupt, "\(error?.message ?? "")")
    #expect(TemporaryFolder.names(folder("empty")).isEmpty)
    #expect(throws: StoreError.self) { try restore("new", from: backup) }
    #expect(access(folder("new"), F_OK) != 0)
  }

  @Test func `a review of a backup finds damage, and changes nothing`() throws {
    let store = try open(live)
    for round in 0..<100 { try store.put("r\(round)", String(repeating: "a", count: 1000)) }
    try store.compact()
    try store.put("rnew", "1")
    let backup = try backUp(store, second: 1).path
    let before = try BackupFiles.list(backup)
    #expect(StoreReview.problem(of: backup, readsAll: true) == nil)
    #expect(try BackupFiles.list(backup) == before)
    for file in before where file.name.hasSuffix(".sst") {
      TemporaryFolder.flip(bit: 3, at: 100, of: "\(backup)/\(file.name)")
    }
    #expect(StoreReview.problem(of: backup, readsAll: true)?.code == .corrupt)
  }

  @Test func `the last writes of a restore are in the new store, and not in the backup`() throws {
    let store = try open(live)
    try store.put("ra", "1")
    try backUp(store, second: 1)
    _ = try StoreRestore(to: folder("a")).run(from: backups) { (store) throws(StoreError) in
      let set = WriteSet()
      set.put(Array("_mark".utf8), [1])
      try store.commit(set, durable: true)
    }
    #expect(try open(folder("a")).value(Array("_mark".utf8)) == [1])
    #expect(try store.value(Array("_mark".utf8)) == nil)
  }
}
