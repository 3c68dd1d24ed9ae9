package import RuledCore
import RuledEngine
package import RuledStore

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
