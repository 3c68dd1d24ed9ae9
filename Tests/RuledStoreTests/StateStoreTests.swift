import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// Checks what every store promises.
struct StateStoreTests {
  @Test(arguments: UInt64(1)...20)
  func `a memory store behaves like the model`(seed: UInt64) throws {
    try followModel(MemoryStore(), seed: seed, rounds: 200) { store, _ in store }
  }

  @Test(arguments: UInt64(1)...4)
  func `a RocksDB store behaves like the model and keeps its content over closing and reopening`(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let store = try RocksStore(path: folder.path)
    try followModel(store, seed: seed, rounds: 120) { store, random in
      if Bool.random(using: &random) {
        try store.reopen()
        return store
      }
      try store.close()
      return try RocksStore(path: folder.path)
    }
  }

  @Test func `a large memory store stays in order over splits and removals`() throws {
    let store = MemoryStore()
    var random = SeededRandom(seed: 1)
    let numbers = Array(UInt32(0)..<5_000).shuffled(using: &random)
    let set = WriteSet()
    for number in numbers { set.put(bytes(number), [1]) }
    try store.commit(set, durable: false)
    set.removeAll()
    for number in UInt32(1_000)..<4_000 { set.delete(bytes(number)) }
    for number in UInt32(0)..<1_000 where number % 2 == 0 { set.delete(bytes(number)) }
    try store.commit(set, durable: false)
    let kept = (0..<UInt32(5_000)).filter { ($0 < 1_000 && $0 % 2 == 1) || $0 >= 4_000 }
    #expect(try store.pairs(from: [0]).map(\.key) == kept.map(bytes))
  }

  @Test func `a scan sees one moment and stops when told to`() throws {
    let folder = TemporaryFolder()
    for store in [MemoryStore(), try RocksStore(path: folder.path)] as [any StateStore] {
      for name in ["ra", "rb", "rc"] { try store.put(name, "old") }
      var seen: [String] = []
      try store.scan(prefix: [0x72]) { key, value in
        seen.append(String(decoding: key, as: UTF8.self) + String(decoding: value, as: UTF8.self))
        try? store.put("rc", "new")
        try? store.put("rd", "new")
        return true
      }
      #expect(seen == ["raold", "rbold", "rcold"])
      seen = []
      try store.scan(prefix: [0x72]) { key, _ in
        seen.append(String(decoding: key, as: UTF8.self))
        return seen.count < 2
      }
      #expect(seen == ["ra", "rb"])
    }
  }

  @Test func `a closed store says so`() throws {
    let folder = TemporaryFolder()
    for store in [MemoryStore(), try RocksStore(path: folder.path)] as [any StateStore] {
      try store.close()
      let error = #expect(throws: StoreError.self) { try store.text("ra") }
      #expect(error?.code == .closed)
      #expect(throws: StoreError.self) { try store.put("ra", "1") }
    }
  }

  private func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  private func followModel(
    _ store: any StateStore, seed: UInt64, rounds: Int,
    renew: (any StateStore, inout SeededRandom) throws -> any StateStore
  ) throws {
    var store = store
    var random = SeededRandom(seed: seed)
    var model = ModelStore()
    let commit = WriteSet()
    for round in 0..<rounds {
      let part = WriteSet()
      commit.removeAll()
      for _ in 0..<2 {
        part.removeAll()
        model.write(part, using: &random)
        commit.append(part)
      }
      try store.commit(commit, durable: round % 50 == 0)
      let key = random.key()
      #expect(try store.value(key) == model.values[key])
      if round % 10 == 0 {
        let bounds = [random.key(), random.key()].sorted { $0.lexicographicallyPrecedes($1) }
        #expect(try store.pairs(from: bounds[0], to: bounds[1]) == model.pairs(from: bounds[0], to: bounds[1]))
        #expect(try store.pairs() == model.pairs())
      }
      if round % 40 == 39 { store = try renew(store, &random) }
    }
    #expect(try store.pairs() == model.pairs())
  }
}
