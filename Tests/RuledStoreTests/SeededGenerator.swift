/// Random numbers that are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  /// The numbers of that seed.
  init(seed: UInt64) { state = seed }

  /// The next number.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A short key from a small alphabet, so that keys meet; never in the daemon's own part.
  mutating func key() -> [UInt8] {
    let alphabet: [UInt8] = [0, 1, 0x61, 0x62, 0x7A, 0xFF]
    let length = Int.random(in: 0...3, using: &self)
    return [0x72] + (0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &self)] }
  }

  /// Up to `most` bytes.
  mutating func value(most: Int = 300) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
