import CRocksDB
import RuledCore
import Synchronization

/// Drops expired outcomes while RocksDB compacts its files, so that nothing else has to delete them.
final class ExpiryFilter: @unchecked Sendable {  // cutoffs are atomic, `filter` is set once
  /// The time before which an outcome has expired, in microseconds since 1970.
  let cutoff = Atomic<Int64>(.min)
  /// The cutoff up to which the flush thread removed whole files of expired outcomes.
  let removed = Atomic<Int64>(.min)
  private static let expiring = StoreKey.Kind.expiring.map(\.rawValue)
  /// RocksDB's handle; no database may use it when this is released.
  private(set) var filter: OpaquePointer?

  /// A filter that drops nothing yet.
  init() {
    filter = rocksdb_compactionfilter_create(
      Unmanaged.passUnretained(self).toOpaque(), releaseExpiryFilter, dropExpired, nameExpiryFilter)
  }

  deinit { rocksdb_compactionfilter_destroy(filter) }

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
  let drops = filter.drops(ByteView(start: key, count: keyLength), ByteView(start: value, count: valueLength))
  return drops ? 1 : 0
}
