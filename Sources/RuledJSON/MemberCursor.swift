import CJSON
import Glibc
package import RuledCore

/// Where a walk through an array or an object is, on the tape and in the text.
private struct ContainerPosition {
  let container: TapeValue
  let end: Int
  var index: Int
  var text: cj_cursor

  var isAtEnd: Bool { index >= end }

  init(_ container: TapeValue, text: ByteView) {
    self.container = container
    end = cj_end(container.tape, container.index)
    index = cj_first(container.index)
    self.text = text.withCharacters { cj_raw_open($0, $1) }
  }
}

/// Walks an object's members on the tape and in the text at once, so that each comes with its text as sent.
package struct MemberCursor {
  private var position: ContainerPosition

  package struct Member {
    /// The decoded name.
    package let name: ByteView
    package let value: TapeValue
    /// The value's text as sent.
    package let text: ByteView
  }

  package init(_ object: TapeValue, text: ByteView) {
    position = ContainerPosition(object, text: text)
  }

  package mutating func next() -> Member? {
    guard !position.isAtEnd else { return nil }
    let (object, index) = (position.container, position.index)
    let name = object.value(at: index).string ?? ByteView.empty
    let value = object.value(at: index + 1)
    position.index = cj_next(object.tape, index + 1)
    guard let text = skipPlain(name, value) ?? scan() else { return nil }
    return Member(name: name, value: value, text: text)
  }

  /// Moves over a member by reading each of its characters; returns the value's text.
  private mutating func scan() -> ByteView? {
    var (name, value) = (cj_slice(), cj_slice())
    guard cj_raw_member_next(&position.text, &name, &value) else { return nil }
    return ByteView(start: value.bytes, count: value.length)
  }

  // MARK: Without reading all of it

  // The decoded name and value tell how long a member's text is, unless it has escapes: then these functions return nil.

  /// Moves over a member without escapes, by the lengths of its decoded name and value; returns the value's text.
  @inline(__always)
  private mutating func skipPlain(_ name: ByteView, _ value: TapeValue) -> ByteView? {
    var start = skipSpace(position.text.at)
    if start < position.text.end, byte(start) == UInt8(ascii: ",") { start = skipSpace(start + 1) }
    guard let nameEnd = endOfString(start, name) else { return nil }
    let colon = skipSpace(nameEnd)
    guard colon < position.text.end else { return nil }
    let valueStart = skipSpace(colon + 1)
    guard valueStart < position.text.end, let valueEnd = endOfValue(valueStart, value) else { return nil }
    position.text.at = valueEnd
    return ByteView(start: valueStart, count: valueEnd - valueStart)
  }

  @inline(__always)
  private func endOfValue(_ start: UnsafePointer<CChar>, _ value: TapeValue) -> UnsafePointer<CChar>? {
    if let string = value.string { return endOfString(start, string) }
    guard value.isContainer else {
      var at = start
      while at < position.text.end, !Self.endsScalar(byte(at)) { at += 1 }
      return at
    }
    // The last value of an object ends before the object's own brace.
    guard position.isAtEnd else { return nil }
    var at = position.text.end
    while at > start, byte(at - 1) != UInt8(ascii: "}") { at -= 1 }
    at -= 1
    while at > start, Self.isSpace(byte(at - 1)) { at -= 1 }
    return at > start ? at : nil
  }

  /// Where the string ends that begins with `quote` and decodes to `decoded`.
  ///
  /// Where the text equals the decoded string up to a closing quote, it has no escape: decoding would have made it shorter.
  @inline(__always)
  private func endOfString(_ quote: UnsafePointer<CChar>, _ decoded: ByteView) -> UnsafePointer<CChar>? {
    let count = decoded.count
    guard position.text.end - quote >= count + 2, byte(quote + count + 1) == UInt8(ascii: "\"") else { return nil }
    if let bytes = decoded.baseAddress, count > 0, memcmp(bytes, quote + 1, count) != 0 { return nil }
    return quote + count + 2
  }

  @inline(__always)
  private func byte(_ at: UnsafePointer<CChar>) -> UInt8 { UInt8(bitPattern: at.pointee) }

  @inline(__always)
  private func skipSpace(_ start: UnsafePointer<CChar>) -> UnsafePointer<CChar> {
    var at = start
    while at < position.text.end, Self.isSpace(byte(at)) { at += 1 }
    return at
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

/// Walks an array's elements on the tape and in the text at once, so that each comes with its text as sent.
package struct ElementCursor {
  private var position: ContainerPosition

  package struct Element {
    package let value: TapeValue
    /// The value's text as sent.
    package let text: ByteView
  }

  package init(_ array: TapeValue, text: ByteView) {
    position = ContainerPosition(array, text: text)
  }

  package var isAtEnd: Bool { position.isAtEnd }

  package mutating func next() -> Element? {
    var raw = cj_slice()
    guard !position.isAtEnd, cj_raw_element(&position.text, &raw) else { return nil }
    let value = position.container.value(at: position.index)
    position.index = cj_next(position.container.tape, position.index)
    return Element(value: value, text: ByteView(start: raw.bytes, count: raw.length))
  }
}
