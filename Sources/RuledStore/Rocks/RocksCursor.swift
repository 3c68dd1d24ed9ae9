import CRocksDB

/// A cursor over a RocksDB database, made for one call of `withCursor`.
final class RocksCursor: StoreCursor {
  private let iterator: OpaquePointer?
  private let options: OpaquePointer?

  /// A cursor over the keys of `database` below `upper`, whose bytes must stay as long as the cursor.
  init(_ database: RocksDatabase, below upper: UnsafeRawBufferPointer?) {
    options = rocksdb_readoptions_create()
    rocksdb_readoptions_set_verify_checksums(options, 1)
    if let upper {
      rocksdb_readoptions_set_iterate_upper_bound(options, RocksDatabase.characters(upper), upper.count)
    }
    iterator = rocksdb_create_iterator(database.handle, options)
  }

  deinit {
    rocksdb_iter_destroy(iterator)
    rocksdb_readoptions_destroy(options)
  }

  var key: UnsafeRawBufferPointer {
    var length = 0
    let start = rocksdb_iter_key(iterator, &length)
    return UnsafeRawBufferPointer(start: start, count: length)
  }

  var value: UnsafeRawBufferPointer {
    var length = 0
    let start = rocksdb_iter_value(iterator, &length)
    return UnsafeRawBufferPointer(start: start, count: length)
  }

  func seek(to key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    rocksdb_iter_seek(iterator, RocksDatabase.characters(key), key.count)
    return try settle()
  }

  func next() throws(StoreError) -> Bool {
    rocksdb_iter_next(iterator)
    return try settle()
  }

  private func settle() throws(StoreError) -> Bool {
    if rocksdb_iter_valid(iterator) != 0 { return true }
    try StoreError.check("the store can't be read") { rocksdb_iter_get_error(iterator, $0) }
    return false
  }
}
