import RuledCore
import RuledEngine
import RuledStore

/// A value of the daemon itself that the store holds under a name.
struct StoredValue {
  /// The name, unique among the daemon's values.
  let name: String

  /// Stores the bytes that `body` appends.
  ///
  /// If the store fails, it keeps the value before, and the failure is logged.
  func write(to context: EngineContext, durable: Bool, _ body: (ByteBuffer) -> Void) {
    do throws(StoreError) { try write(to: context.store, durable: durable, body) } catch {
      context.log.error("the daemon's own '\(name)' could not be kept in the store: \(error)")
    }
  }

  func write(to store: any StateStore, durable: Bool = true, _ body: (ByteBuffer) -> Void) throws(StoreError) {
    let set = WriteSet()
    put(into: set, body)
    try store.commit(set, durable: durable)
  }

  /// Adds the bytes that `body` appends to a commit.
  func put(into set: WriteSet, _ body: (ByteBuffer) -> Void) {
    let value = ByteBuffer()
    body(value)
    let key = self.key
    withExtendedLifetime((key, value)) { set.put(key.bytes, value.bytes) }
  }

  /// Adds the removal of the value to a commit.
  func delete(from set: WriteSet) {
    let key = self.key
    withExtendedLifetime(key) { set.delete(key.bytes) }
  }

  /// Removes the stored value, durably.
  func remove(from store: any StateStore) throws(StoreError) {
    let set = WriteSet(capacity: 64)
    delete(from: set)
    try store.commit(set, durable: true)
  }

  func read(from store: any StateStore) throws(StoreError) -> ByteBuffer? {
    let (key, value) = (self.key, ByteBuffer())
    defer { withExtendedLifetime(key) {} }
    return try store.get(key.bytes, into: value) ? value : nil
  }

  private var key: ByteBuffer {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    return key
  }
}
