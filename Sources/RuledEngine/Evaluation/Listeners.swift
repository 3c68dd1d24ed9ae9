import Glibc

/// The plugins that hear a type.
final class Listeners {
  /// The type that was asked for.
  let type: [UInt8]
  /// Its hash.
  let hash: UInt64
  /// Which plugins, and which of their rules in order.
  let plugins: [(plugin: Int, rules: [Int])]

  init(type: [UInt8], hash: UInt64, plugins: [(plugin: Int, rules: [Int])]) {
    self.type = type
    self.hash = hash
    self.plugins = plugins
  }
}

/// Who hears which type, remembered for the types that came lately: each has one place, which it shares with others.
struct ListenerTable {
  private var places: [Listeners?] = Array(repeating: nil, count: 4096)

  /// What is remembered of a type.
  func find(_ type: UnsafeRawBufferPointer, hash: UInt64) -> Listeners? {
    guard let known = places[Self.place(hash)], known.hash == hash, known.type.count == type.count else { return nil }
    let isSame = known.type.withUnsafeBytes { own in
      guard let own = own.baseAddress, let other = type.baseAddress else { return true }
      return memcmp(own, other, type.count) == 0
    }
    return isSame ? known : nil
  }

  /// Remembers a type instead of another.
  mutating func insert(_ listeners: Listeners) { places[Self.place(listeners.hash)] = listeners }

  private static func place(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash & 4095) }
}
