/// What a value on the tape is; the raw value is the tape's own mark.
package enum TapeKind: UInt8 {
  case object = 0x7B
  case array = 0x5B
  case string = 0x22
  /// An integer of 64 bits with a sign.
  case integer = 0x6C
  /// An integer that only fits 64 bits without a sign.
  case unsigned = 0x75
  case number = 0x64
  case `true` = 0x74
  case `false` = 0x66
  case null = 0x6E
}
