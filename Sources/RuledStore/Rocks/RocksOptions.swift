import CRocksDB
import CRocksEnv
import Glibc

/// The options of a database, which they must outlive.
final class RocksOptions: @unchecked Sendable {  // only read after `init`, but for compression, which opening sets
  private static let mebibyte = 1 << 20

  let options = rocksdb_options_create()
  /// A read of one key, its checksums verified.
  ///
  /// The block is not cached: a cache above the store has the values that are read often, so caching the block would cost more than it saves.
  let read = rocksdb_readoptions_create()
  let expiry = ExpiryFilter()
  private let cache: OpaquePointer?

  /// Options with a block cache of `blockCacheBytes`, and with RocksDB's usual environment unless there is another.
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
