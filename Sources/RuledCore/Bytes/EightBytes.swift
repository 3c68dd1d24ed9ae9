/// Eight bytes of text looked at together, as one number.
public struct EightBytes {
  @usableFromInline let word: UInt64

  /// The eight bytes at `place`.
  @inlinable
  @inline(__always)
  public init(_ place: UnsafeRawPointer) { word = place.loadUnaligned(as: UInt64.self) }

  @usableFromInline static let lows: UInt64 = 0x0101_0101_0101_0101
  @usableFromInline static let highs: UInt64 = 0x8080_8080_8080_8080

  /// Whether none of them needs an escape in a JSON string.
  @inlinable
  @inline(__always)
  public var isPlainInJSON: Bool {
    let controls = (word &- Self.lows &* 0x20) & ~word
    return (controls | Self.zeros(word ^ Self.lows &* 0x22) | Self.zeros(word ^ Self.lows &* 0x5C)) & Self.highs == 0
  }

  /// Whether all of them are ASCII, and none a control character.
  @inlinable
  @inline(__always)
  public var isPlainASCII: Bool {
    ((word &- Self.lows &* 0x20) | word | Self.zeros(word ^ Self.lows &* 0x7F)) & Self.highs == 0
  }

  /// A number whose highest bits are all clear unless one of the bytes is zero.
  @inlinable
  @inline(__always)
  static func zeros(_ word: UInt64) -> UInt64 { (word &- lows) & ~word }

  /// Whether all bytes of `text` have a quality, which is told of eight or, where there are fewer, of one.
  @inlinable
  @inline(__always)
  public static func all(
    _ text: UnsafeRawBufferPointer, where eight: (EightBytes) -> Bool, and one: (UInt8) -> Bool
  ) -> Bool {
    guard let start = text.baseAddress else { return true }
    let count = text.count
    guard count >= 8 else {
      var place = 0
      while place < count {
        guard one(start.load(fromByteOffset: place, as: UInt8.self)) else { return false }
        place += 1
      }
      return true
    }
    var place = 0
    while place + 8 < count {
      guard eight(EightBytes(start + place)) else { return false }
      place += 8
    }
    return eight(EightBytes(start + count - 8))
  }
}
