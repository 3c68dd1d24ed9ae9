import RuledCore

/// The version of the layout of keys, records and log, which the store holds itself.
enum StoreFormat {
  /// The earliest version that can be upgraded.
  private static let earliest = 3
  /// The first version whose log has a manifest.
  static let firstWithManifest = 4

  /// The format of the database, which this daemon can read; a new database is marked with the present format.
  static func check(_ database: RocksDatabase, path: String) throws(StoreError) -> Int {
    guard let value = try stored.read(from: database) else {
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

  /// Marks the database with the present format, unless it is open to read only.
  static func mark(_ database: RocksDatabase) throws(StoreError) {
    guard !database.isReadOnly else { return }
    try stored.put(into: database) { $0.append(decimal: Int64(RocksStore.format)) }
  }

  static let stored = StoredValue(name: "format")
}
