import RuledCore

@testable import RuledStore

extension StateStore {
  /// The value under `key` as an array.
  func value(_ key: [UInt8]) throws -> [UInt8]? {
    let buffer = ByteBuffer()
    let found = try key.withView { bytes in try get(bytes, into: buffer) }
    return found ? Array(buffer.bytes) : nil
  }

  /// The value under `key`, both as text.
  func text(_ key: String) throws -> String? {
    try value(Array(key.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Commits one pair of texts.
  func put(_ key: String, _ value: String, durable: Bool = false) throws {
    let set = WriteSet()
    set.put(Array(key.utf8), Array(value.utf8))
    try commit(set, durable: durable)
  }

  /// The pairs from `lower` on and below `upper`, without the store's own format.
  func pairs(from lower: [UInt8] = [], to upper: [UInt8]? = nil) throws -> [Pair] {
    var pairs: [Pair] = []
    try scan(from: lower, to: upper) { key, value in
      if key.first != StoreKey.Kind.daemon.rawValue { pairs.append(Pair(key: Array(key), value: Array(value))) }
      return true
    }
    return pairs
  }
}

/// A key with its value.
struct Pair: Equatable {
  /// What the value is found by.
  var key: [UInt8]
  /// The value under the key.
  var value: [UInt8]
}

extension WriteSet {
  func put(_ key: [UInt8], _ value: [UInt8]) {
    key.withView { key in value.withView { put(key, $0) } }
  }

  /// Removes a key that is an array.
  func delete(_ key: [UInt8]) { key.withView { delete($0) } }

  /// The last write of the set on a key, as text that tests compare.
  func found(_ key: [UInt8]) -> String {
    key.withView { key in
      switch lookup(key) {
      case .absent: "absent"
      case .deleted: "deleted"
      case .value(let bytes): "value \(Array(bytes))"
      }
    }
  }
}
