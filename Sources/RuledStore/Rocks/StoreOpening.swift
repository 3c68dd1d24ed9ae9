import RuledCore

/// Opens the parts of a store's folder, or makes them, and checks that they belong together.
struct StoreOpening {
  let path: String
  let files: any FileSystem
  let options: RocksOptions

  /// The folder of the log's files.
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
    if let contents, contents.next > 1, !files.exists(path + "/CURRENT") {
      throw LogDamage(
        file: path + "/CURRENT", offset: 0, what: "the database's file is gone, and nothing can be read without it"
      ).error
    }
    try files.syncFolder(path)  // what an earlier process left may be in the page cache only
    let database = try RocksDatabase(path: path, options: options)
    let format = try StoreFormat.check(database, path: path)
    if contents == nil { contents = try upgrade(from: format) }
    let known = contents ?? LogManifest.Contents()
    if format < RocksStore.format { try StoreFormat.mark(database) }
    let flushed = try SegmentIngestion.flushed(in: database)
    guard flushed >= known.flushed else {
      throw LogDamage(
        file: path, offset: 0,
        what:
          "the database took the log's files up to \(known.flushed), but now knows of those up to \(flushed) only: its MANIFEST is shorter "
          + "than it was, or the files are of two backups, and the commits of the files in between are gone"
      ).error
    }
    let manifest = LogManifest(files, folder: path, contents: known)
    try manifest.change { $0.flushed = flushed }
    try files.createFolder(logFolder)
    return (database, manifest)
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
      throw LogDamage(
        file: "\(path)/\(LogManifest.name)", offset: 0,
        what: "the file is gone, so nobody knows which files belong to the log"
      ).error
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

/// The version of the layout of keys, records and log, which the store holds itself.
enum StoreFormat {
  /// The earliest version that can be upgraded.
  private static let earliest = 3
  /// The first version whose log has a manifest.
  static let firstWithManifest = 4

  /// The format of the database, which this daemon can read; a new database is marked with the present format.
  static func check(_ database: RocksDatabase, path: String) throws(StoreError) -> Int {
    let key = key
    let value = ByteBuffer(capacity: 16)
    defer { withExtendedLifetime(key) {} }
    guard try database.get(key.bytes, into: value) else {
      try mark(database)
      return RocksStore.format
    }
    guard let format = Int(value.text) else {
      throw StoreError(.corrupt, "the store at \(path) does not say what format it has", underlying: value.text)
    }
    guard format <= RocksStore.format else {
      throw StoreError(
        .newerFormat,
        "the store at \(path) has format \(format), this ruled knows up to \(RocksStore.format): "
          + "use the ruled that wrote it, or a later one")
    }
    guard format >= earliest else {
      throw StoreError(
        .refused,
        "the store at \(path) has format \(format) of an unreleased ruled, this one reads format \(earliest) and later: "
          + "give it another folder")
    }
    return format
  }

  /// Marks the database with the present format.
  static func mark(_ database: RocksDatabase) throws(StoreError) {
    let value = ByteBuffer(capacity: 16)
    value.append(decimal: Int64(RocksStore.format))
    let key = key
    defer { withExtendedLifetime((key, value)) {} }
    try database.put(key.bytes, value.bytes)
  }

  private static var key: ByteBuffer {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    return key
  }

  /// The name under which the database has its format.
  static let name = "format"
}
