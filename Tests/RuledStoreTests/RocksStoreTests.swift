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

  @Test(arguments: UInt64(1)...4)
  func `the keys of one subject are found in segments of any length, whatever was read before`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = try RocksStore(path: folder.path, blockCacheBytes: 1 << 20, settings: .small)
    var model: [[UInt8]: [UInt8]] = [:]
    for _ in 0..<400 {
      let set = WriteSet()
      for _ in 0..<Int.random(in: 1...30, using: &random) {
        // Records and `once` keys of more subjects than are remembered.
        let text = "\(["r", "o"][Int.random(in: 0...1, using: &random)])s\(Int.random(in: 0..<40, using: &random))\u{0}"
        let key = Array((text.hasPrefix("o") ? text + "p\u{0}\(Int.random(in: 0..<3, using: &random))" : text).utf8)
        if Int.random(in: 0..<4, using: &random) == 0 {
          set.delete(key)
          model[key] = nil
        } else {
          model[key] = random.value(most: 60)
          set.put(key, model[key] ?? [])
        }
      }
      try store.commit(set, durable: false)
      let subject = Int.random(in: 0..<40, using: &random)
      for kind in ["r", "o"] {
        let prefix = Array("\(kind)s\(subject)\u{0}".utf8)
        let expected = model.filter { $0.key.starts(with: prefix) }.map { Pair(key: $0.key, value: $0.value) }
        let found = try store.pairs(from: prefix, to: prefix.dropLast() + [1])
        #expect(found == expected.sorted { $0.key.lexicographicallyPrecedes($1.key) })
      }
    }
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
