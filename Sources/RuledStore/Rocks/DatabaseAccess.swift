/// The database of a store while it is open, shared by those who read it and the drain, and held alone by whoever opens or closes it.
final class DatabaseAccess: @unchecked Sendable {  // `database` is guarded by `lock`
  private let path: String
  private let options: RocksOptions
  private let lock = ReadWriteLock()
  private var database: RocksDatabase?
  private var isClosed = false

  /// Access to the database of the store in the folder `path`.
  init(_ database: RocksDatabase, path: String, options: RocksOptions) {
    self.database = database
    self.path = path
    self.options = options
  }

  /// Runs `body` with the database, which stays open meanwhile.
  func reading<Result>(_ body: (RocksDatabase) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try lock.reading { () throws(StoreError) in
      guard let database else {
        throw isClosed
          ? Self.closed(path)
          : StoreError(.poisoned, "the store at \(path) could not be reopened and can't be read")
      }
      return try body(database)
    }
  }

  /// Opens the database anew, so that it takes writes again after one that failed.
  ///
  /// The open one is closed only once its files have been opened to read, so that reads go on whatever happens.
  func reopen() throws(StoreError) {
    let reader = try RocksDatabase(readOnly: path, options: options)
    try lock.writing { () throws(StoreError) in
      guard !isClosed else { throw Self.closed(path) }
      database = reader
      database = try RocksDatabase(path: path, options: options)
    }
  }

  /// Closes the database for good.
  func close() {
    lock.writing {
      isClosed = true
      database = nil
    }
  }

  /// What everything is answered with once the store is closed.
  static func closed(_ path: String) -> StoreError { StoreError(.closed, "the store at \(path) has been closed") }
}
