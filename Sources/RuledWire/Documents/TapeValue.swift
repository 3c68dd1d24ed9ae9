import CJSON
import Glibc

/// A value on the tape of a parsed document, valid until the document parses again.
package struct TapeValue {
  /// The document's tape.
  package let tape: UnsafePointer<UInt64>
  /// The document's decoded strings.
  package let strings: UnsafePointer<UInt8>
  /// Where the value stands on the tape.
  package let index: Int

  /// What the value is.
  package var kind: TapeKind { TapeKind(rawValue: UInt8(truncatingIfNeeded: tape[index] >> 56)) ?? .null }

  /// Whether the value is of that kind.
  @inline(__always)
  func isKind(_ kind: TapeKind) -> Bool { UInt8(truncatingIfNeeded: tape[index] >> 56) == kind.rawValue }

  /// Whether the value is an object or an array.
  package var isContainer: Bool { isKind(.object) || isKind(.array) }

  /// The decoded bytes, or nil if the value is no string.
  package var string: UnsafeRawBufferPointer? {
    guard isKind(.string) else { return nil }
    var length = 0
    let bytes = cj_string(tape, strings, index, &length)
    return UnsafeRawBufferPointer(start: bytes, count: length)
  }

  /// The decoded text, or nil if the value is no string.
  package var text: String? { string.map { String(decoding: $0, as: UTF8.self) } }

  /// The boolean, or nil if the value is none.
  package var bool: Bool? {
    switch kind {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// The integer, or nil if the value is no whole number of 64 bits; `1.0` is 1.
  package var integer: Int64? {
    switch kind {
    case .integer: cj_int64(tape, index)
    case .number: Int64(exactly: cj_double(tape, index))
    default: nil
    }
  }

  /// The number, rounded to a double if need be, or nil if the value is none.
  package var double: Double? {
    switch kind {
    case .integer: Double(cj_int64(tape, index))
    case .unsigned: Double(cj_uint64(tape, index))
    case .number: cj_double(tape, index)
    default: nil
    }
  }

  /// Whether the value is the string `text`.
  package func isString(_ text: StaticString) -> Bool { string.map { $0.equals(text) } ?? false }

  /// The elements of an array, or the names and values of an object in turn; empty for a scalar.
  package var children: [TapeValue] {
    guard isContainer else { return [] }
    var children: [TapeValue] = []
    var next = cj_first(index)
    while next < cj_end(tape, index) {
      children.append(TapeValue(tape: tape, strings: strings, index: next))
      next = cj_next(tape, next)
    }
    return children
  }

  /// The last member called `name`, or nil if there is none, it is null, or the value is no object.
  package func member(_ name: StaticString) -> TapeValue? {
    guard isKind(.object) else { return nil }
    let bytes = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    let found = cj_member(tape, strings, index, bytes, name.utf8CodeUnitCount)
    guard found != 0 else { return nil }
    let value = TapeValue(tape: tape, strings: strings, index: found)
    return value.isKind(.null) ? nil : value
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are those of `text`; the names of requests and events mostly have four to eight.
  @inline(__always)
  func equals(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard self.count == count else { return false }
    guard count > 0, let start = baseAddress else { return true }
    let wanted = UnsafeRawPointer(text.utf8Start)
    guard 4...8 ~= count else { return memcmp(start, wanted, count) == 0 }
    return start.fourBytes(0) == wanted.fourBytes(0) && start.fourBytes(count - 4) == wanted.fourBytes(count - 4)
  }
}

extension UnsafeRawPointer {
  /// Four bytes as a number.
  @inline(__always)
  fileprivate func fourBytes(_ offset: Int) -> UInt32 { loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
}
