import CJSON
import Glibc

/// Walks an object's members on the tape and in the text at once, so that each comes with its text as sent.
package struct MemberCursor {
  private let object: TapeValue
  private let end: Int
  private var index: Int
  private var cursor: cj_cursor

  /// A member of an object.
  package struct Member {
    /// The decoded name.
    package let name: UnsafeRawBufferPointer
    /// The value.
    package let value: TapeValue
    /// The value's text as sent.
    package let text: UnsafeRawBufferPointer
  }

  /// A cursor before the first member of `object`, whose text is `text`.
  package init(_ object: TapeValue, text: UnsafeRawBufferPointer) {
    self.object = object
    end = cj_end(object.tape, object.index)
    index = cj_first(object.index)
    cursor = text.withCharacters { cj_raw_open($0, $1) }
  }

  /// The next member, or nil at the end.
  package mutating func next() -> Member? {
    guard index < end else { return nil }
    let name = TapeValue(tape: object.tape, strings: object.strings, index: index)
    let value = TapeValue(tape: object.tape, strings: object.strings, index: index + 1)
    let decoded = name.string ?? UnsafeRawBufferPointer(start: nil, count: 0)
    index = cj_next(object.tape, index + 1)
    guard let text = passPlainly(decoded, value) ?? pass() else { return nil }
    return Member(name: decoded, value: value, text: text)
  }

  /// Moves over a member character by character; answers the value's text.
  private mutating func pass() -> UnsafeRawBufferPointer? {
    var (rawName, rawValue) = (cj_slice(), cj_slice())
    guard cj_raw_member_next(&cursor, &rawName, &rawValue) else { return nil }
    return UnsafeRawBufferPointer(start: rawValue.bytes, count: rawValue.length)
  }

  /// Moves over a member without looking at all of it, as what is decoded tells how long it is; nil where it does not, as with escapes.
  @inline(__always)
  private mutating func passPlainly(_ name: UnsafeRawBufferPointer, _ value: TapeValue) -> UnsafeRawBufferPointer? {
    var at = skipSpace(cursor.at)
    if at < cursor.end, byte(at) == UInt8(ascii: ",") { at = skipSpace(at + 1) }
    guard let behindName = behindString(at, name) else { return nil }
    let colon = skipSpace(behindName)
    guard colon < cursor.end else { return nil }
    let start = skipSpace(colon + 1)
    guard start < cursor.end, let behind = behindValue(start, value) else { return nil }
    cursor.at = behind
    return UnsafeRawBufferPointer(start: start, count: behind - start)
  }

  /// The place behind the value that begins at `start`; nil where only reading it all can tell.
  @inline(__always)
  private func behindValue(_ start: UnsafePointer<CChar>, _ value: TapeValue) -> UnsafePointer<CChar>? {
    if let string = value.string { return behindString(start, string) }
    guard value.isContainer else {
      var at = start
      while at < cursor.end, !Self.endsScalar(byte(at)) { at += 1 }
      return at
    }
    // Behind the last value stands nothing but the end of its object.
    guard index >= end else { return nil }
    var at = cursor.end
    while at > start, byte(at - 1) != UInt8(ascii: "}") { at -= 1 }
    at -= 1
    while at > start, Self.isSpace(byte(at - 1)) { at -= 1 }
    return at > start ? at : nil
  }

  /// The place behind the string that begins at `quote`; nil unless it stands there as it is decoded.
  ///
  /// Of two runs that are equal as far as the closing quote, none has an escape: decoding would have made it shorter.
  @inline(__always)
  private func behindString(_ quote: UnsafePointer<CChar>, _ decoded: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
    let count = decoded.count
    guard cursor.end - quote >= count + 2, byte(quote + count + 1) == UInt8(ascii: "\"") else { return nil }
    if let bytes = decoded.baseAddress, count > 0, memcmp(bytes, quote + 1, count) != 0 { return nil }
    return quote + count + 2
  }

  @inline(__always)
  private func byte(_ place: UnsafePointer<CChar>) -> UInt8 { UInt8(bitPattern: place.pointee) }

  @inline(__always)
  private func skipSpace(_ place: UnsafePointer<CChar>) -> UnsafePointer<CChar> {
    var place = place
    while place < cursor.end, Self.isSpace(byte(place)) { place += 1 }
    return place
  }

  @inline(__always)
  private static func isSpace(_ byte: UInt8) -> Bool {
    byte <= 0x20 && (byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09)
  }

  @inline(__always)
  private static func endsScalar(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || isSpace(byte)
  }
}
