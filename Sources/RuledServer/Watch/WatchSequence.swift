import RuledCore
import RuledEngine
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
  ///
  /// When it can't be read, changes go on from the time in microseconds: there can't have been as many, so that no number means two changes.
  static func read(from context: EngineContext) throws(StoreError) -> UInt64 {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    let value = ByteBuffer(capacity: 8)
    do throws(StoreError) {
      guard try context.store.get(key.bytes, into: value) else { return 0 }
      guard value.count == 8 else { throw StoreError(.corrupt, "the last change's number has another form") }
      return UInt64(bigEndian: value.bytes.loadUnaligned(as: UInt64.self))
    } catch {
      guard error.isDamage else { throw error }
      context.noteDamage(key.bytes, error)
      return UInt64(max(context.clock.now.microseconds, 0))
    }
  }
}
