package import RuledCore

/// A value of the daemon itself that the store holds under a name.
package struct StoredValue: Sendable {
  package let key: [UInt8]

  /// The value under a name, which is unique among the daemon's values.
  package init(name: some KeyPart) { key = StoreKey.bytes { StoreKey.daemon(name, into: $0) } }

  /// The sequence of the last change.
  package static let sequence = StoredValue(name: StoreKey.sequenceName)

  /// Stores the bytes that `body` appends.
  package func write(
    to store: any StateStore, durable: Bool = true, _ body: (ByteBuffer) -> Void
  ) throws(StoreError) {
    let set = WriteSet()
    put(into: set, body)
    try store.commit(set, durable: durable)
  }

  /// Adds the bytes that `body` appends to a commit.
  package func put(into set: WriteSet, _ body: (ByteBuffer) -> Void) {
    let value = ByteBuffer()
    body(value)
    key.withView { set.put($0, value.bytes) }
    withExtendedLifetime(value) {}
  }

  /// Adds the removal of the value to a commit.
  package func delete(from set: WriteSet) { key.withView { set.delete($0) } }

  /// Removes the stored value, durably.
  package func remove(from store: any StateStore) throws(StoreError) {
    let set = WriteSet(capacity: 64)
    delete(from: set)
    try store.commit(set, durable: true)
  }

  package func read(from store: any StateStore) throws(StoreError) -> ByteBuffer? { try read(store.get) }

  func read(from database: RocksDatabase) throws(StoreError) -> ByteBuffer? { try read(database.get) }

  private func read(
    _ get: (ByteView, ByteBuffer) throws(StoreError) -> Bool
  ) throws(StoreError) -> ByteBuffer? {
    let value = ByteBuffer()
    return try key.withView { (key) throws(StoreError) in try get(key, value) } ? value : nil
  }

  /// Puts the value into the database, in the files when this returns.
  func put(into database: RocksDatabase, _ body: (ByteBuffer) -> Void) throws(StoreError) {
    let value = ByteBuffer()
    body(value)
    defer { withExtendedLifetime(value) {} }
    try key.withView { (key) throws(StoreError) in try database.put(key, value.bytes) }
  }
}
