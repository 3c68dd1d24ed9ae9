import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// Checks what can be read from a store with a damaged block.
@Suite struct DamagedFileTests {
  private let folder = TemporaryFolder()
  private static let count = 8_000

  private static func key(_ number: Int) -> [UInt8] {
    Array("ruser:\(String(repeating: "0", count: 6 - "\(number)".count))\(number)".utf8)
  }

  /// The store's files, the largest first.
  private func files() throws -> [String] {
    try Folder.names(folder.path).filter { $0.hasSuffix(".sst") }.map { "\(folder.path)/\($0)" }
      .sorted { size($0) > size($1) }
  }

  private func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Flips one bit of a file at an offset.
  private func damage(_ path: String, at part: Double) throws {
    let descriptor = open(path, O_RDWR)
    defer { close(descriptor) }
    let offset = Int(Double(size(path)) * part)
    var byte: UInt8 = 0
    try #require(pread(descriptor, &byte, 1, offset) == 1)
    byte ^= 0x10
    try #require(pwrite(descriptor, &byte, 1, offset) == 1)
  }

  /// A store of many keys, with that many damaged blocks.
  private func damagedStore(seed: UInt64, blocks: Int) throws -> RocksStore {
    var random = SeededRandom(seed: seed)
    let store = try RocksStore(path: folder.path)
    let set = WriteSet()
    for number in 0..<Self.count {
      set.put(Self.key(number), (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
    try store.commit(set, durable: true)
    try store.compact()
    try store.close()
    for _ in 0..<blocks { try damage(files()[0], at: .random(in: 0.05..<0.85, using: &random)) }
    return try RocksStore(path: folder.path)
  }

  @Test(arguments: [(UInt64(1), 1), (2, 1), (3, 3), (4, 8)])
  func `a scan passes over a damaged block, and tells of just those keys that can't be read`(
    seed: UInt64, blocks: Int
  ) throws {
    let store = try damagedStore(seed: seed, blocks: blocks)
    defer { try? store.close() }
    var unreadable: Set<[UInt8]> = []
    for number in 0..<Self.count {
      do { _ = try store.value(Self.key(number)) } catch let error as StoreError {
        #expect(error.code == .corrupt && error.isDamage)
        #expect(error.file?.hasSuffix(".sst") == true, "\(error)")
        unreadable.insert(Self.key(number))
      }
    }
    #expect(!unreadable.isEmpty && unreadable.count < 2_000)
    #expect(throws: StoreError.self) { try store.scan(prefix: Array("r".utf8)) { _, _ in true } }
    for _ in 0..<2 {  // the second scan knows where the damage ends
      var stretches: [UnreadableKeys] = []
      var seen: Set<[UInt8]> = []
      var last: [UInt8] = []
      try store.scan(prefix: Array("r".utf8), skipping: { stretches.append($0) }) { key, value in
        #expect(last.lexicographicallyPrecedes(key))
        last = Array(key)
        seen.insert(last)
        return value.count == 40
      }
      #expect(stretches.count >= 1 && stretches.count <= blocks)
      #expect(seen.isDisjoint(with: unreadable))
      let missing = Set((0..<Self.count).map(Self.key)).subtracting(seen)
      #expect(missing.isSuperset(of: unreadable))
      // Where two damaged blocks lie near each other, keys between them may be passed over too.
      if stretches.count == blocks { #expect(missing == unreadable) }
      for key in missing {
        #expect(key.withView { key in stretches.contains { $0.mayContain(key) } })
      }
    }
  }

  @Test func `keys of a damaged stretch are found in the log, and those that it removed are not`() throws {
    let store = try damagedStore(seed: 7, blocks: 1)
    defer { try? store.close() }
    let unreadable = (0..<Self.count).filter { (try? store.value(Self.key($0))) == nil }
    let first = try #require(unreadable.first)
    let set = WriteSet()
    set.put(Self.key(first), [1])
    set.delete(Self.key(first + 1))
    try store.commit(set, durable: true)
    var found: [UInt8]?
    var count = 0
    try store.scan(prefix: Array("r".utf8), skipping: { _ in }) { key, value in
      count += 1
      if key.elementsEqual(Self.key(first)) { found = Array(value) }
      return true
    }
    #expect(found == [1])
    #expect(count == Self.count - unreadable.count + 1)
    #expect(try store.value(Self.key(first)) == [1])
    #expect(try store.value(Self.key(first + 1)) == nil)
  }
}
