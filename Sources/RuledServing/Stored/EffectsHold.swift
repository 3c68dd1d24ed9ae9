import RuledCore
package import RuledStore

/// Whether effects are held back: a restore with `--hold-effects` sets this in the store, and a client releases them.
package enum EffectsHold {
  private static let value = StoredValue(name: "effects_held")

  /// Has the next daemon that opens this store, and all later ones, hold effects back.
  package static func hold(in store: any StateStore) throws(StoreError) { try value.write(to: store) { $0.append(1) } }

  static func isHeld(in store: any StateStore) throws(StoreError) -> Bool { try value.read(from: store) != nil }

  static func release(in store: any StateStore) throws(StoreError) { try value.remove(from: store) }
}
