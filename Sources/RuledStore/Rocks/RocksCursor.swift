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
        ranges.first { $0.mayHold(last.bytes) || $0.after == after }
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

  /// Moves to the first key that is not below `key`; false when there is none.
  ///
  /// Uses another iterator, because one that has met damage may report a key near it as damaged too.
  private func isReadable(from key: [UInt8]) -> Bool {
    rocksdb_iter_destroy(iterator)
    iterator = rocksdb_create_iterator(database.handle, options)
    key.withView { rocksdb_iter_seek(iterator, RocksDatabase.characters($0), $0.count) }
    return rocksdb_iter_valid(iterator) != 0
  }

  /// The result of a seek to a key.
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

  /// The eight bytes at `offset` as a number, those missing as zero.
  private static func number(_ key: [UInt8], at offset: Int) -> UInt64 {
    (0..<8).reduce(0) { $0 << 8 | UInt64(offset + $1 < key.count ? key[offset + $1] : 0) }
  }
}

/// A cursor over the log's writes and the database's files together, as they are at its first seek.
final class MergedCursor: StoreCursor {
  /// One segment's writes, and how far the cursor has come in them.
  private struct Source {
    let segment: Segment
    let writes: OrderedWrites
    var position = OrderedWrites.Position()

    /// The key at the position; nil at the end.
    var key: ByteView? { writes[position].map { SegmentWrite.key(at: $0, in: segment.base) } }
  }

  private let begin: (KeyScope?) -> (log: [(segment: Segment, writes: OrderedWrites)], files: RocksCursor)
  private let upper: ByteView?
  private var scope: KeyScope?
  private var sources: [Source] = []
  private var files: RocksCursor?
  private var filesHaveKey = false
  private var current: ByteView?
  private var currentValue: ByteView?

  /// Only the files can be damaged; keys of such a range in the log are found.
  var skipping: ((UnreadableKeys) -> Void)?

  /// A cursor over the keys below `upper`, whose bytes must stay as long as the cursor; `begin` gives the writes of a scope and what is in the
  /// files, both of one moment.
  init(
    below upper: ByteView?,
    _ begin: @escaping (KeyScope?) -> (log: [(segment: Segment, writes: OrderedWrites)], files: RocksCursor)
  ) {
    self.upper = upper
    self.begin = begin
  }

  var key: ByteView { current ?? ByteView.empty }

  var value: ByteView { currentValue ?? files?.value ?? ByteView.empty }

  func seek(to key: ByteView) throws(StoreError) -> Bool {
    let wanted = KeyScope(from: key, to: upper)
    if files == nil || !covers(wanted) {
      scope = wanted
      let begun = begin(wanted)
      sources = begun.log.map { Source(segment: $0.segment, writes: $0.writes) }
      files = begun.files
      files?.skipping = skipping
    }
    for index in sources.indices {
      sources[index].position = sources[index].writes.find(key, in: sources[index].segment.base)
    }
    filesHaveKey = try files?.seek(to: key) ?? false
    return try findLeast()
  }

  func next() throws(StoreError) -> Bool {
    if let current { try skip(current) }
    return try findLeast()
  }

  /// Whether the writes that the first seek gathered include those of another scope.
  private func covers(_ wanted: KeyScope?) -> Bool {
    guard let scope else { return true }
    guard let wanted else { return false }
    return scope.kind == wanted.kind && (scope.subject == 0 || scope.subject == wanted.subject)
  }

  /// Moves all that is at `key` behind it.
  private func skip(_ key: ByteView) throws(StoreError) {
    let isInFiles = filesHaveKey && files.map { ByteOrder.equal($0.key, key) } == true
    skipInSources(key)
    if isInFiles { filesHaveKey = try files?.next() ?? false }
  }

  private func skipInSources(_ key: ByteView) {
    for index in sources.indices {
      if let own = sources[index].key, ByteOrder.equal(own, key) {
        sources[index].position = sources[index].writes.position(after: sources[index].position)
      }
    }
  }

  /// Moves to the least key that has a value.
  ///
  /// Of several values under one key the latest segment's counts, and any segment's before the files'.
  private func findLeast() throws(StoreError) -> Bool {
    while true {
      var least: ByteView? = filesHaveKey ? files?.key : nil
      var chosen: Int?
      for (index, source) in sources.enumerated() {
        guard let key = source.key else { continue }
        guard let other = least else {
          least = key
          chosen = index
          continue
        }
        let order = ByteOrder.compare(key, other)
        if order < 0 || (order == 0 && chosen == nil) {
          least = key
          chosen = index
        }
      }
      guard let least else { return false }
      if let upper, ByteOrder.compare(least, upper) >= 0 { return false }
      current = least
      guard let chosen, let offset = sources[chosen].writes[sources[chosen].position] else {
        currentValue = nil
        return true
      }
      currentValue = SegmentWrite.value(at: offset, in: sources[chosen].segment.base)
      if currentValue != nil { return true }
      currentValue = ByteView.empty
      try skip(least)
    }
  }
}
