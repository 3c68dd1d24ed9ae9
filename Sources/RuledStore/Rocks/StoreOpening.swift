/// Opens the parts of a store's folder, or makes them, and checks that they belong together.
struct StoreOpening {
  let path: String
  let files: any FileSystem
  let options: RocksOptions
  var opensToRead = false

  var logFolder: String { path + "/log" }

  /// The database and the log's manifest.
  ///
  /// The manifest is made before the database, so that a database without one has lost it.
  func run() throws(StoreError) -> (RocksDatabase, LogManifest) {
    let isNew = try isEmptyFolder()
    var contents = try LogManifest.read(files, folder: path)
    if isNew, contents == nil {
      contents = LogManifest.Contents()
      try files.createFolder(logFolder)
      try LogManifest.write(LogManifest.Contents(), to: path, files)
    }
    try checkDatabase(contents)
    try files.syncFolder(path)  // the names of an earlier process may be in the page cache only
    let database =
      opensToRead
      ? try RocksDatabase(readOnly: path, options: options) : try RocksDatabase(path: path, options: options)
    let format = try StoreFormat.check(database, path: path)
    if contents == nil { contents = try upgrade(from: format) }
    let known = contents ?? LogManifest.Contents()
    if format < RocksStore.format { try StoreFormat.mark(database) }
    let flushed = try SegmentIngestion.flushed(in: database)
    guard flushed >= known.flushed else {
      throw .damagedLog(
        path,
        "the database took the log's files up to \(known.flushed), but now knows of those up to \(flushed) only: its MANIFEST is shorter "
          + "than it was, or the files are of two backups, and the commits of the files in between are gone")
    }
    let manifest = LogManifest(files, folder: path, contents: known)
    try manifest.change { $0.flushed = flushed }
    try files.createFolder(logFolder)
    return (database, manifest)
  }

  /// Refuses a store that has lost its database, by the log's manifest.
  func checkDatabase(_ contents: LogManifest.Contents?) throws(StoreError) {
    guard let contents, contents.next > 1, !files.exists(path + "/CURRENT") else { return }
    throw StoreError(
      .corrupt,
      "\(path)/CURRENT is gone: nothing of the database can be read without it, and nothing was changed. Restore a backup"
    )
  }

  /// Whether nothing of a store is in the folder yet.
  private func isEmptyFolder() throws(StoreError) -> Bool {
    let names = try files.names(in: path)
    return !names.contains { $0 == "CURRENT" || $0.hasPrefix("MANIFEST-") || $0.hasSuffix(".sst") }
      && logNames().isEmpty
  }

  private func logNames() -> [String] { ((try? files.names(in: logFolder)) ?? []).filter { $0.hasSuffix(".log") } }

  /// Makes the manifest of a store of format 3, which had none; its log must be empty, as after every orderly end.
  private func upgrade(from format: Int) throws(StoreError) -> LogManifest.Contents {
    guard format < StoreFormat.firstWithManifest else {
      throw .damagedLog(
        "\(path)/\(LogManifest.name)", "the file is gone, so nobody knows which files belong to the log")
    }
    guard logNames().isEmpty else {
      throw StoreError(
        .refused,
        "the log of the store at \(path) was written by an earlier ruled, which did not end in order: start that one once more and stop it with "
          + "SIGTERM, then start this one")
    }
    try LogManifest.write(LogManifest.Contents(), to: path, files)
    return LogManifest.Contents()
  }
}
