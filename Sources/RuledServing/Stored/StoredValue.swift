package import RuledCore
import RuledEngine
package import RuledStore

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

package enum StoredClock {
  private static let value = StoredValue(name: "clock")

  /// Stores the present value; one that is not durable is so no later than the commits after it.
  static func write(_ context: EngineContext, durable: Bool = true) {
    value.write(to: context, durable: durable) {
      $0.append(bigEndian: UInt64(bitPattern: context.clock.now.microseconds))
    }
  }

  package static func read(from store: any StateStore) throws(StoreError) -> Timestamp? {
    guard let stored = try value.read(from: store) else { return nil }
    guard stored.count == 8 else {
      throw StoreError(.corrupt, "the manual clock's value in the store has another form")
    }
    return Timestamp(microseconds: Int64(bitPattern: UInt64(bigEndian: stored.bytes.load(at: 0, as: UInt64.self))))
  }
}

/// Whether effects are held back: a restore with `--hold-effects` sets this in the store, and a client releases them.
package enum EffectsHold {
  private static let value = StoredValue(name: "effects_held")

  /// Has the next daemon that opens this store, and all later ones, hold effects back.
  package static func hold(in store: any StateStore) throws(StoreError) { try value.write(to: store) { $0.append(1) } }

  static func isHeld(in store: any StateStore) throws(StoreError) -> Bool { try value.read(from: store) != nil }

  static func release(in store: any StateStore) throws(StoreError) { try value.remove(from: store) }
}
