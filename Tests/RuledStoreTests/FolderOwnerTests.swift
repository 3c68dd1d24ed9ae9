import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// What root leaves in a store's folder; another user can give no file away.
@Suite(.enabled(if: geteuid() == 0)) struct FolderOwnerTests {
  private let folder = TemporaryFolder()
  private let daemon: uid_t = 65_534

  private func owner(_ name: String) throws -> uid_t { try BackupFiles.status(of: folder("store/\(name)")).st_uid }

  /// A store of the daemon's user, which root then opens to write an entry.
  private func open(_ body: (RocksStore) throws(StoreError) -> Void) throws {
    try Folder.create(folder("store"))
    try #require(chown(folder("store"), daemon, daemon) == 0)
    try FolderOwner.kept(of: folder("store")) { () throws(StoreError) in
      let store = try RocksStore(path: folder("store"), blockCacheBytes: 1 << 20)
      try body(store)
      try store.close()
    }
  }

  @Test func `files that root writes into a store belong to the owner of its folder`() throws {
    try open { _ in }
    for file in try BackupFiles.list(folder("store")) { #expect(try owner(file.name) == daemon, "\(file.name)") }
    #expect(try owner("log") == daemon)
  }

  @Test func `it does so too when what root does fails`() throws {
    #expect(throws: StoreError.self) { try open { (_) throws(StoreError) in throw StoreError(.refused, "no") } }
    for file in try BackupFiles.list(folder("store")) { #expect(try owner(file.name) == daemon, "\(file.name)") }
  }

  @Test func `a file with a second name elsewhere, and what a link leads to, stay root's`() throws {
    folder.write("outside", "root's")
    try Folder.create(folder("store"))
    try #require(chown(folder("store"), daemon, daemon) == 0)
    try FolderOwner.kept(of: folder("store")) {
      #expect(link(folder("outside"), folder("store/second")) == 0)
      #expect(symlink("../outside", folder("store/link")) == 0)
    }
    #expect(try owner("second") == 0)
    #expect(try BackupFiles.status(of: folder("outside")).st_uid == 0)
  }
}
