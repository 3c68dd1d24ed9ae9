import Glibc
import RuledCore

/// Makes a store of a backup, in a folder that is empty or not there.
package struct StoreRestore {
  package struct Report: Sendable {
    package let backup: String
    package let files: Int
    package let bytes: Int
    package fileprivate(set) var subjects = 0
    package fileprivate(set) var entries = 0
  }

  private let path: String

  package init(to path: String) { self.path = path }

  /// Copies a backup, opens it, reads every entry, and lets `finish` change it; `backup` is the backup's folder, or a folder of backups for the latest one.
  ///
  /// When it fails, the folder is left as it was. As root, it gives the files to the owner of the folder.
  package func run(from backup: String, finish: (RocksStore) throws(StoreError) -> Void) throws(StoreError) -> Report {
    let source = try BackupFolder.find(backup)
    let files = try check(source)
    let isNew = access(path, F_OK) != 0
    try Folder.create(path)
    guard try Folder.names(path).isEmpty else {
      throw StoreError(
        .refused,
        "\(path) is not empty: stop the daemon and move what is there out of the way, for example to \(path).old")
    }
    do throws(StoreError) {
      var report = Report(backup: source, files: files.count, bytes: files.reduce(0) { $0 + $1.bytes })
      try FolderOwner.kept(of: path) { () throws(StoreError) in
        try copy(files, from: source)
        try verify(&report, finish)
      }
      return report
    } catch {
      for name in (try? Folder.names(path)) ?? [] { try? BackupFiles.remove("\(path)/\(name)") }
      if isNew { rmdir(path) }
      throw error
    }
  }

  /// The files of a backup, all of which are there.
  private func check(_ source: String) throws(StoreError) -> [(name: String, bytes: Int)] {
    let files = try BackupList(of: source).files
    for file in files where BackupFiles.entry(file.name, in: source)?.bytes != file.bytes {
      throw StoreError(
        .corrupt,
        "the backup \(source) is not complete: \(file.name) is missing or has another size; use another backup")
    }
    return files
  }

  /// Copies the files: the log's manifest first and `CURRENT` last, so that a folder with a part of them opens as no store.
  private func copy(_ files: [(name: String, bytes: Int)], from source: String) throws(StoreError) {
    func rank(_ name: String) -> Int { name == LogManifest.name ? 0 : name == "CURRENT" ? 2 : 1 }
    let names = files.map(\.name).sorted { (rank($0), $0) < (rank($1), $1) }
    try BackupFiles.writeFiles(names, to: path) { () throws(StoreError) in
      for name in names { try BackupFiles.copy("\(source)/\(name)", to: "\(path)/\(name)") }
    }
  }

  private func verify(_ report: inout Report, _ finish: (RocksStore) throws(StoreError) -> Void) throws(StoreError) {
    let store = try RocksStore(path: path)
    try store.scan(from: [], to: nil) { key, _ in
      report.entries += 1
      if key.first == StoreKey.Kind.record.rawValue { report.subjects += 1 }
      return true
    }
    try finish(store)
    try store.close()
  }
}
