import RuledCore
import RuledEngine
import RuledJSON
import RuledStore

/// The last revision that loaded, in the store: a daemon that starts with rules that don't load serves it.
enum StoredRules {
  private static let value = StoredValue(name: "rules")

  /// Stores a revision.
  static func write(_ source: RulesSource, to context: EngineContext) {
    value.write(to: context, durable: false) { source.encoded.write(to: $0) }
  }

  /// The stored revision; nil when there is none.
  static func read(from store: any StateStore) throws(StoreError) -> RulesSource? {
    let stored = ByteBuffer(capacity: 4096)
    guard try value.read(from: store, into: stored) else { return nil }
    guard let json = try? JSONValue(parsing: stored.bytes), let source = RulesSource(encoded: json) else {
      throw StoreError(.corrupt, "the rules that the store keeps have another form")
    }
    return source
  }
}
