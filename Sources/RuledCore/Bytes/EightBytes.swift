/// Eight bytes of text, classified together as one number.
public struct EightBytes {
  @usableFromInline let word: UInt64

  @inlinable
  @inline(__always)
  init(_ text: ByteView, at index: Int) { word = text.load(uncheckedAt: index, as: UInt64.self) }

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

  /// Whether all bytes of `text` pass a test, which exists in two forms: for eight bytes, and for one where `text` has fewer than eight.
  @inlinable
  @inline(__always)
  public static func all(_ text: ByteView, where eight: (EightBytes) -> Bool, and one: (UInt8) -> Bool) -> Bool {
    let count = text.count
    guard count >= 8 else {
      var index = 0
      while index < count {
        guard one(text.load(uncheckedAt: index, as: UInt8.self)) else { return false }
        index += 1
      }
      return true
    }
    var index = 0
    while index + 8 < count {
      guard eight(EightBytes(text, at: index)) else { return false }
      index += 8
    }
    return eight(EightBytes(text, at: count - 8))
  }
}
