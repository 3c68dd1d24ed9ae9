import CRocksDB
import CRocksEnv
import Glibc
import RuledCore
import Synchronization

/// The options of a database, which they must outlive.
final class RocksOptions: @unchecked Sendable {  // only read after `init`, but for compression, which opening sets
  private static let mebibyte = 1 << 20

  let options = rocksdb_options_create()
  /// A read of one key, its checksums verified.
  ///
  /// The block is not cached: values that are read often are cached above the store, so caching the block would cost more than it saves.
  let read = rocksdb_readoptions_create()
  /// What drops expired outcomes.
  let expiry = ExpiryFilter()
  private let cache: OpaquePointer?

  /// Options with a cache of `blockCacheBytes` for what is read, and an environment of RocksDB other than the usual one if any is given.
  init(blockCacheBytes: Int, environment: RocksEnvironment? = nil) {
    cache = rocksdb_cache_create_lru(blockCacheBytes)
    rocksdb_readoptions_set_verify_checksums(read, 1)
    rocksdb_readoptions_set_fill_cache(read, 0)

    let table = rocksdb_block_based_options_create()
    rocksdb_block_based_options_set_block_cache(table, cache)
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_block_based_options_set_whole_key_filtering(table, 1)
    rocksdb_block_based_options_set_format_version(table, 5)
    rocksdb_options_set_block_based_table_factory(options, table)
    rocksdb_block_based_options_destroy(table)

    rocksdb_options_set_create_if_missing(options, 1)
    rocksdb_options_set_env(options, environment?.handle ?? cre_environment())
    rocksdb_options_set_paranoid_checks(options, 1)
    rocksdb_options_set_compaction_filter(options, expiry.filter)
    setMemory()
    setFiles()
  }

  deinit {
    rocksdb_readoptions_destroy(read)
    rocksdb_options_destroy(options)
    rocksdb_cache_destroy(cache)
  }

  /// Whether files are compressed with LZ4; not every build of RocksDB has it.
  func setCompression(_ isOn: Bool) {
    rocksdb_options_set_compression(options, Int32(isOn ? rocksdb_lz4_compression : rocksdb_no_compression))
  }

  /// Next to nothing passes through RocksDB's memtable: it ingests the files that the flush thread makes.
  ///
  /// Many of these gather before they are merged, and the first level is large, so that a record that changes often is rewritten seldom: files hold records of
  /// subjects from everywhere, so that merging them rewrites most of the level. A read asks each file's Bloom filter first.
  private func setMemory() {
    rocksdb_options_set_write_buffer_size(options, Self.mebibyte)
    rocksdb_options_set_level0_file_num_compaction_trigger(options, 32)
    rocksdb_options_set_max_bytes_for_level_base(options, 1024 * UInt64(Self.mebibyte))
    rocksdb_options_set_max_background_jobs(options, 2)
  }

  private func setFiles() {
    rocksdb_options_set_max_open_files(options, Int32(StoreDescriptors.files(within: StoreDescriptors.limit)))
    rocksdb_options_compaction_readahead_size(options, 2 * Self.mebibyte)
    rocksdb_options_set_bytes_per_sync(options, UInt64(Self.mebibyte))
    rocksdb_options_set_info_log(options, cre_silent_logger())
    rocksdb_options_set_stats_dump_period_sec(options, 0)
    rocksdb_options_set_stats_persist_period_sec(options, 0)
    rocksdb_options_set_skip_stats_update_on_db_open(options, 1)
  }
}

/// An environment of RocksDB, through which it reaches its files; must outlive the databases that use it.
struct RocksEnvironment {
  let handle: OpaquePointer?
}

/// How many file descriptors a store on disk takes of those that the process may have.
package enum StoreDescriptors {
  /// Files that the database keeps open, at most; fewer where the process may have few, since it opens them again.
  private static let mostFiles = 512
  private static let fewestFiles = 32
  /// The log's files, those that are being written, and the database's own beside its data.
  private static let others = 32

  /// How many it takes where there are enough.
  package static let most = mostFiles + others
  /// How many it takes where there are few.
  package static let fewest = fewestFiles + others

  /// How many it takes where the process may have `limit`.
  package static func count(within limit: Int) -> Int { files(within: limit) + others }

  /// How many of them are data files.
  static func files(within limit: Int) -> Int { min(mostFiles, max(fewestFiles, limit / 4)) }

  /// How many the process may have.
  static var limit: Int {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
      ? Int(clamping: limit.rlim_cur) : mostFiles
  }
}

/// Drops expired outcomes while RocksDB compacts its files, so that nobody has to delete them.
final class ExpiryFilter: @unchecked Sendable {  // cutoffs are atomic, `filter` is set once
  /// The time before which an outcome has expired, in microseconds since 1970.
  let cutoff = Atomic<Int64>(.min)
  /// The cutoff up to which the flush thread removed whole files of expired outcomes.
  let removed = Atomic<Int64>(.min)
  private static let expiring = StoreKey.Kind.expiring.map(\.rawValue)
  /// RocksDB's handle; no database may use it when this is released.
  fileprivate private(set) var filter: OpaquePointer?

  /// A filter that drops nothing yet.
  init() {
    filter = rocksdb_compactionfilter_create(
      Unmanaged.passUnretained(self).toOpaque(), releaseExpiryFilter, dropExpired, nameExpiryFilter)
  }

  deinit { rocksdb_compactionfilter_destroy(filter) }

  /// Whether the entry has expired.
  fileprivate func drops(_ key: ByteView, _ value: ByteView) -> Bool {
    guard let first = key.first, Self.expiring.contains(first) else { return false }
    return StoredExpiry.isOver(value, before: cutoff.load(ordering: .relaxed))
  }
}

private let expiryFilterName: StaticString = "ruled.expiry"

private func nameExpiryFilter(_: UnsafeMutableRawPointer?) -> UnsafePointer<CChar>? {
  UnsafeRawPointer(expiryFilterName.utf8Start).assumingMemoryBound(to: CChar.self)
}

private func releaseExpiryFilter(_: UnsafeMutableRawPointer?) {}

private func dropExpired(
  _ state: UnsafeMutableRawPointer?, _ level: Int32, _ key: UnsafePointer<CChar>?, _ keyLength: Int,
  _ value: UnsafePointer<CChar>?, _ valueLength: Int, _ newValue: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ newLength: UnsafeMutablePointer<Int>?, _ changed: UnsafeMutablePointer<UInt8>?
) -> UInt8 {
  guard let state else { return 0 }
  let filter = Unmanaged<ExpiryFilter>.fromOpaque(state).takeUnretainedValue()
  let drops = filter.drops(
    ByteView(start: key, count: keyLength), ByteView(start: value, count: valueLength))
  return drops ? 1 : 0
}
