import TestSupport

@testable import RuledStore

/// The model of a store: its pairs in a dictionary.
struct ModelStore {
  private(set) var values: [[UInt8]: [UInt8]] = [:]

  /// Makes a few random writes, the same ones in `set` and here.
  mutating func write(_ set: WriteSet, using random: inout SeededRandom) {
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3:
        let key = random.key()
        set.delete(key)
        values[key] = nil
      default:
        let key = random.key()
        let value = random.value()
        set.put(key, value)
        values[key] = value
      }
    }
  }

  /// The pairs from `lower` on and below `upper`, in byte order.
  func pairs(from lower: [UInt8] = [], to upper: [UInt8]? = nil) -> [Pair] {
    values.filter { !precedes($0.key, lower) }
      .filter { pair in upper.map { precedes(pair.key, $0) } ?? true }
      .sorted { precedes($0.key, $1.key) }
      .map { Pair(key: $0.key, value: $0.value) }
  }

  private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool { left.lexicographicallyPrecedes(right) }
}
