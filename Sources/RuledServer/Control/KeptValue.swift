import RuledCore
import RuledEngine
import RuledStore

/// A value of the daemon's own that the store holds under a name.
struct KeptValue {
  /// The name, unique among the daemon's values.
  let name: String

  /// Keeps what `write` appends; a store that refuses keeps the value before, which the log hears of.
  func keep(in context: EngineContext, durable: Bool, _ write: (ByteBuffer) -> Void) {
    let value = ByteBuffer()
    write(value)
    let key = self.key
    let set = WriteSet(capacity: value.count + 64)
    withExtendedLifetime((key, value)) { set.put(key.bytes, value.bytes) }
    do throws(StoreError) { try context.store.commit(set, durable: durable) } catch {
      context.log.write(LogLine(.error, "the daemon's own '\(name)' could not be kept in the store: \(error)"))
    }
  }

  /// Appends what was kept last and says whether there is anything; throws when nobody can tell.
  func read(from store: any StateStore, into value: ByteBuffer) throws(StoreError) -> Bool {
    let key = self.key
    defer { withExtendedLifetime(key) {} }
    return try store.get(key.bytes, into: value)
  }

  private var key: ByteBuffer {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    return key
  }
}
