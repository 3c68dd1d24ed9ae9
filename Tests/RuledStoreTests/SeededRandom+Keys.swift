import TestSupport

extension SeededRandom {
  /// A short key of a record or an outcome.
  ///
  /// Its alphabet is small, so that keys repeat.
  mutating func key() -> [UInt8] {
    let alphabet: [UInt8] = [0, 1, 0x61, 0x62, 0x7A, 0xFF]
    let length = Int.random(in: 0...3, using: &self)
    let kind: UInt8 = Bool.random(using: &self) ? 0x72 : 0x64
    return [kind] + (0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &self)] }
  }

  /// Up to `most` bytes.
  mutating func value(most: Int = 300) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
