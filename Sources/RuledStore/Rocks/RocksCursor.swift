import CRocksDB
import RuledCore

/// A cursor over a RocksDB database, made for one call of `withCursor`.
final class RocksCursor: StoreCursor {
  private let database: RocksDatabase
  private var iterator: OpaquePointer?
  private let options: OpaquePointer?
  /// The key of the last move that found one, while damage is skipped.
  private let last = ByteBuffer(capacity: 64)

  var skipping: ((UnreadableKeys) -> Void)?

  /// A cursor over the keys of `database` below `upper`, whose bytes must stay as long as the cursor.
  init(_ database: RocksDatabase, below upper: ByteView?) {
    self.database = database
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

  var key: ByteView {
    var length = 0
    let start = rocksdb_iter_key(iterator, &length)
    return ByteView(start: start, count: length)
  }

  var value: ByteView {
    var length = 0
    let start = rocksdb_iter_value(iterator, &length)
    return ByteView(start: start, count: length)
  }

  func seek(to key: ByteView) throws(StoreError) -> Bool {
    rocksdb_iter_seek(iterator, RocksDatabase.characters(key), key.count)
    guard skipping != nil else { return try land() }
    last.removeAll()
    last.append(key)
    return try landOrSkip()
  }

  func next() throws(StoreError) -> Bool {
    guard skipping != nil else {
      rocksdb_iter_next(iterator)
      return try land()
    }
    last.removeAll()
    last.append(key)
    rocksdb_iter_next(iterator)
    return try landOrSkip()
  }

  private func land() throws(StoreError) -> Bool {
    if rocksdb_iter_valid(iterator) != 0 { return true }
    try StoreError.check("the store can't be read") { rocksdb_iter_get_error(iterator, $0) }
    return false
  }

  // MARK: Skipping damage

  private func landOrSkip() throws(StoreError) -> Bool {
    do throws(StoreError) { return try land() } catch {
      guard error.isDamage, let skipping else { throw error }
      let after = Array(last.bytes)
      let known = database.knownDamage.withLock { ranges in
        ranges.first { $0.mayContain(last.bytes) || $0.after == after }
      }
      if let known, let before = known.before, isReadable(from: before) {
        skipping(UnreadableKeys(error: error, after: after, before: before))
        return true
      }
      var before = firstReadable(behind: after)
      if let found = before, !isReadable(from: found) { before = nil }
      let range = UnreadableKeys(error: error, after: after, before: before)
      database.knownDamage.withLock { ranges in
        if ranges.count >= RocksDatabase.mostKnownDamage { ranges.removeFirst() }
        ranges.append(range)
      }
      skipping(range)
      return before != nil
    }
  }

  /// Moves to the first key at or above `key`; false when there is none.
  ///
  /// Uses another iterator, because one that has met damage may report a key near it as damaged too.
  private func isReadable(from key: [UInt8]) -> Bool {
    rocksdb_iter_destroy(iterator)
    iterator = rocksdb_create_iterator(database.handle, options)
    key.withView { rocksdb_iter_seek(iterator, RocksDatabase.characters($0), $0.count) }
    return rocksdb_iter_valid(iterator) != 0
  }

  private enum Landing { case damage, end, key([UInt8]) }

  private func landing(of key: [UInt8]) -> Landing {
    if isReadable(from: key) { return .key(Array(self.key)) }
    do throws(StoreError) { _ = try land() } catch { return .damage }
    return .end
  }

  /// The first key behind `key` that can be read; nil when there is none.
  ///
  /// RocksDB does not say where a block ends. So this tries ever more distant keys until one can be read, and then halves the distance.
  private func firstReadable(behind key: [UInt8]) -> [UInt8]? {
    var damaged = key
    for count in stride(from: key.count, to: 0, by: -1) where key[count - 1] < 255 {
      let probe = Array(key[..<(count - 1)]) + [key[count - 1] + 1]
      switch landing(of: probe) {
      case .damage: damaged = probe
      case .end: return nearest(from: damaged, to: probe, found: nil)
      case .key(let found): return nearest(from: damaged, to: probe, found: found)
      }
    }
    return nil
  }

  /// The first readable key between a damaged one and a readable one, else `found`, the first behind that.
  private func nearest(from damaged: [UInt8], to readable: [UInt8], found: [UInt8]?) -> [UInt8]? {
    var (low, high, best) = (damaged, readable, found)
    var depth = zip(low, high).prefix { $0 == $1 }.count
    while depth < max(low.count, high.count) {
      let (from, to) = (Self.number(low, at: depth), Self.number(high, at: depth))
      guard to > from, to - from > 1 else {
        depth += 8
        continue
      }
      let middle = from + (to - from) / 2
      let prefix = low.prefix(depth) + Array(repeating: 0, count: max(0, depth - low.count))
      let probe = prefix + withUnsafeBytes(of: middle.bigEndian) { Array($0) }
      switch landing(of: Array(probe)) {
      case .damage: low = Array(probe)
      case .end: high = Array(probe)
      case .key(let key): (high, best) = (Array(probe), key)
      }
    }
    return best
  }

  /// The eight bytes at `offset` as a number, missing ones as zero.
  private static func number(_ key: [UInt8], at offset: Int) -> UInt64 {
    (0..<8).reduce(0) { $0 << 8 | UInt64(offset + $1 < key.count ? key[offset + $1] : 0) }
  }
}
