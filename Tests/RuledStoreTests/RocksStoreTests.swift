import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// What is particular to a store on disk.
@Suite(.serialized) struct RocksStoreTests {
  private let folder = TemporaryFolder()

  @Test func `folders on the way to the store are made`() throws {
    let store = try RocksStore(path: folder.path + "/a/b/c")
    try store.put("ra", "1", durable: true)
    #expect(try store.text("ra") == "1")
    #expect(try store.text("rb") == nil)
  }

  @Test func `a second opener is refused and told who has the store`() throws {
    let store = try RocksStore(path: folder.path)
    let error = #expect(throws: StoreError.self) { try RocksStore(path: folder.path) }
    #expect(error?.code == .inUse)
    #expect(error?.message.contains("in use by another ruled (pid \(getpid()))") == true)
    try store.close()
    #expect(throws: Never.self) { try RocksStore(path: folder.path) }
  }

  @Test func `a store whose folder was removed takes no durable commit`() throws {
    let store = try RocksStore(path: folder.path + "/a")
    try store.put("ra", "1", durable: true)
    TemporaryFolder.remove(folder.path + "/a")
    let error = #expect(throws: StoreError.self) { try store.put("ra", "2", durable: true) }
    #expect(error?.code == .removed)
    // Nor does it begin anew in another folder of that name.
    try SystemFiles().createFolder(folder.path + "/a/log")
    #expect(throws: StoreError.self) { try store.reopen() }
    #expect(throws: StoreError.self) { try store.put("ra", "3", durable: true) }
  }

  @Test func `a store of a later format is refused`() throws {
    let store = try RocksStore(path: folder.path)
    try store.put("_format", "\(RocksStore.format + 1)")
    try store.close()
    let error = #expect(throws: StoreError.self) { try RocksStore(path: folder.path) }
    #expect(error?.code == .newerFormat)
  }

  @Test func `a checkpoint opens as a store and does not follow the original`() throws {
    let store = try RocksStore(path: folder.path + "/a")
    try store.put("ra", "1")
    try store.checkpoint(to: folder.path + "/b")
    try store.put("ra", "2")
    #expect(try RocksStore(path: folder.path + "/b").text("ra") == "1")
    #expect(throws: StoreError.self) { try store.checkpoint(to: folder.path + "/b") }
  }

  @Test func `compaction drops outcomes that expired before the cutoff and nothing else`() throws {
    let store = try RocksStore(path: folder.path)
    let set = WriteSet()
    for (name, expiry) in [("da", Int64(-5)), ("db", 99), ("dc", 100), ("ra", 1)] {
      set.put(Array(name.utf8), withUnsafeBytes(of: expiry.bigEndian) { Array($0) })
    }
    set.put(Array("dd".utf8), [0])
    try store.commit(set, durable: false)
    try store.compact()
    #expect(try store.pairs().count == 5)
    store.expire(before: 100)
    try store.compact()
    #expect(try store.pairs().map { String(decoding: $0.key, as: UTF8.self) } == ["dc", "dd", "ra"])
  }

  @Test func `a write that the disk refuses poisons the store until it is reopened, and nothing of it is applied`()
    throws
  {
    let files = FailingFiles()
    let store = try RocksStore(path: folder.path, blockCacheBytes: 1 << 20, files: files)
    try store.put("ra", "1", durable: true)
    let set = WriteSet()
    set.put(Array("ra".utf8), Array("2".utf8))
    set.put(Array("rb".utf8), Array(repeating: 1, count: 40 << 20))
    let error = files.withSizeLimit(32 << 20) {
      #expect(throws: StoreError.self) { try store.commit(set, durable: true) }
    }
    #expect(error?.code == .inputOutput)
    let refused = #expect(throws: StoreError.self) { try store.put("rc", "3") }
    #expect(refused?.code == .poisoned)
    #expect(try store.text("ra") == "1")
    try store.reopen()
    #expect(try store.text("ra") == "1")
    #expect(try store.text("rb") == nil)
    try store.put("rc", "3", durable: true)
    try store.close()
    let again = try RocksStore(path: folder.path)
    #expect(try again.text("ra") == "1")
    #expect(try again.text("rc") == "3")
  }
}
