import Glibc
import TestSupport
import Testing

@testable import RuledStore

/// A store that takes the place of another one, whatever is killed when.
@Suite struct StoreReplacementTests {
  private let folder = TemporaryFolder()

  private var path: String { folder("store") }

  /// Makes the store that is there, with a journal beside it, and writes the one that is to replace it.
  private func prepare() throws -> StoreReplacement {
    let old = try RocksStore(path: path)
    for number in 0..<50 { try old.put("old\(number)", "value") }
    try old.close()
    folder.write("store/journal/1", "entries")
    let replacement = try StoreReplacement(of: path)
    let new = try RocksStore(path: replacement.folder)
    try new.put("new", "value")
    try new.close()
    return replacement
  }

  /// The keys in the store, which is opened as a start does.
  private func keys() throws -> [String] {
    let store = try RocksStore(path: path)
    defer { try? store.close() }
    return try store.pairs().map { String(decoding: $0.key, as: UTF8.self) }
  }

  private func expectNewStore() throws {
    #expect(try keys() == ["new"])
    #expect(try keys() == ["new"], "once more")
    #expect(folder.read("store/journal/1") == "entries")
    #expect(!TemporaryFolder.names(path).contains { $0.hasPrefix("replacement") })
  }

  @Test func `another store takes the place, and the files beside it stay`() throws {
    try prepare().commit()
    try expectNewStore()
  }

  @Test func `before the decision the old store is there`() throws {
    _ = try prepare()
    #expect(try keys().count == 50)
    #expect(!TemporaryFolder.names(path).contains { $0.hasPrefix("replacement") })
    try prepare().discard()
    #expect(try keys().count == 50)
  }

  @Test func `after the decision the new store is there, however much of the old one was removed`() throws {
    for count in 0... {
      _ = try prepare()
      unlink(folder("store/replacement.unfinished/ruled.lock"))
      folder.move("store/replacement.unfinished", "store/replacement")
      let old = TemporaryFolder.names(path).filter { !["replacement", "journal", "ruled.lock"].contains($0) }.sorted()
      for name in old.prefix(count) { _ = Program.run("rm", ["-r", "\(path)/\(name)"]) }
      try expectNewStore()
      TemporaryFolder.remove(path)
      if count == old.count { break }
    }
  }

  @Test func `the new store is there, however many of its files have their place`() throws {
    for count in 0... {
      let replacement = try prepare()
      unlink("\(replacement.folder)/ruled.lock")
      folder.move("store/replacement.unfinished", "replacement.alone")
      for name in TemporaryFolder.names(path) where !["journal", "ruled.lock"].contains(name) {
        _ = Program.run("rm", ["-r", "\(path)/\(name)"])
      }
      folder.move("replacement.alone", "store/replacement.alone")
      let new = TemporaryFolder.names(folder("store/replacement.alone")).sorted()
      for name in new.prefix(count) { folder.move("store/replacement.alone/\(name)", "store/\(name)") }
      try expectNewStore()
      TemporaryFolder.remove(path)
      if count == new.count { break }
    }
  }

  @Test func `an open store is not replaced`() throws {
    let replacement = try prepare()
    let lock = try FolderLock(folder: path)
    #expect(throws: StoreError.self) { try replacement.commit() }
    withExtendedLifetime(lock) {}
  }
}
