import RuledCore
import RuledStore

/// A value of the daemon's own that the store holds under a name.
struct KeptValue {
  /// The name, unique among the daemon's values.
  let name: String

  /// Keeps what `write` appends; a store that refuses keeps the value before.
  func keep(in store: any StateStore, durable: Bool, _ write: (ByteBuffer) -> Void) {
    let value = ByteBuffer()
    write(value)
    let key = self.key
    let set = WriteSet(capacity: value.count + 64)
    withExtendedLifetime((key, value)) { set.put(key.bytes, value.bytes) }
    try? store.commit(set, durable: durable)
  }

  /// What was kept last, or nil.
  func read(from store: any StateStore) -> ByteBuffer? {
    let key = self.key
    let value = ByteBuffer()
    let isKept = withExtendedLifetime(key) { (try? store.get(key.bytes, into: value)) == true }
    return isKept ? value : nil
  }

  private var key: ByteBuffer {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    return key
  }
}
