import RuledCore

/// The version of the layout of keys and records, which stands in the store itself.
enum StoreFormat {
  /// Checks that this daemon can read what is in the database, and marks a new one with the present format.
  static func check(_ database: RocksDatabase, path: String) throws(StoreError) {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon("format", into: key)
    let value = ByteBuffer(capacity: 16)
    guard try database.get(key.bytes, into: value) else {
      value.append(decimal: Int64(RocksStore.format))
      return try database.put(key.bytes, value.bytes)
    }
    guard let format = Int(value.text) else {
      throw StoreError(.corrupt, "the store at \(path) does not say what format it has", underlying: value.text)
    }
    guard format <= RocksStore.format else {
      throw StoreError(
        .newerFormat,
        "the store at \(path) has format \(format), this ruled knows up to \(RocksStore.format): "
          + "use the ruled that wrote it, or a later one")
    }
    guard format == RocksStore.format else {
      throw StoreError(
        .refused,
        "the store at \(path) has format \(format) of an unreleased ruled, this one writes format \(RocksStore.format): "
          + "give it another folder")
    }
  }
}
