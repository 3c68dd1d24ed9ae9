/// The database of a store while it is open: readers and the flush thread share it, opening and closing it excludes them.
final class DatabaseAccess: @unchecked Sendable {  // `lock` guards `database`
  private let path: String
  private let options: RocksOptions
  private let lock = ReadWriteLock()
  /// The database; nil once it is closed for good.
  private var database: RocksDatabase?

  init(_ database: RocksDatabase, path: String, options: RocksOptions) {
    self.database = database
    self.path = path
    self.options = options
  }

  /// Runs `body` with the database, which stays open meanwhile.
  func reading<Result>(_ body: (RocksDatabase) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try lock.reading { () throws(StoreError) in
      guard let database else { throw .closed(path) }
      return try body(database)
    }
  }

  /// Opens the database anew, so that it ingests again after an ingestion that failed.
  ///
  /// The open one is closed only once its files have been opened for reading, so that reads go on whatever happens.
  func reopen() throws(StoreError) {
    let reader = try RocksDatabase(readOnly: path, options: options)
    try lock.writing { () throws(StoreError) in
      guard database != nil else { throw .closed(path) }
      database = reader
      database = try RocksDatabase(path: path, options: options)
    }
  }

  /// Closes the database for good.
  func close() { lock.writing { database = nil } }
}
