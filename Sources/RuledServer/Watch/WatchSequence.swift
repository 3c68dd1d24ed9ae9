import RuledCore
import RuledStore

/// The last change's sequence in the store, written with the changes that it counts.
enum WatchSequence {
  private static let name = "sequence"

  /// Adds it to what is to be committed.
  static func write(_ sequence: UInt64, to writes: WriteSet, key: ByteBuffer, value: ByteBuffer) {
    key.removeAll()
    StoreKey.daemon(name, into: key)
    value.removeAll()
    value.append(bigEndian: sequence)
    writes.put(key.bytes, value.bytes)
  }

  /// The sequence that was committed last, 0 in a fresh store.
  static func read(from store: any StateStore) throws(StoreError) -> UInt64 {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    let value = ByteBuffer(capacity: 8)
    guard try store.get(key.bytes, into: value), value.count == 8 else { return 0 }
    return UInt64(bigEndian: value.bytes.loadUnaligned(as: UInt64.self))
  }
}
