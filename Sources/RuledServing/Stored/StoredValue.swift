package import RuledCore
import RuledEngine
package import RuledStore

extension StoredValue {
  /// Stores the bytes that `body` appends.
  ///
  /// If the store fails, it keeps the value before, and the failure is logged.
  func write(to context: EngineContext, durable: Bool, _ body: (ByteBuffer) -> Void) {
    do throws(StoreError) { try write(to: context.store, durable: durable, body) } catch {
      context.log.error("the daemon's own '\(key.dropFirst().text)' could not be kept in the store: \(error)")
    }
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
    guard let time = stored.number else {
      throw StoreError(.corrupt, "the manual clock's value in the store has another form")
    }
    return Timestamp(microseconds: Int64(bitPattern: time))
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
