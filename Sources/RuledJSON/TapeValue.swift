public import CJSON
public import RuledCore

/// A value on the tape of a parsed document, valid until the document parses again.
public struct TapeValue {
  /// The kind of a value; the raw value is the tape's own mark.
  public enum Kind: UInt8 {
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

  public let tape: UnsafePointer<UInt64>
  public let strings: UnsafePointer<UInt8>
  /// The value's index on the tape; never 0.
  public let index: Int

  @inlinable
  @inline(__always)
  init(tape: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>, index: Int) {
    (self.tape, self.strings, self.index) = (tape, strings, index)
  }

  @inlinable
  @inline(__always)
  public func value(at index: Int) -> TapeValue { TapeValue(tape: tape, strings: strings, index: index) }

  @inlinable public var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: tape[index] >> 56)) ?? .null }

  @inlinable
  @inline(__always)
  public func isKind(_ kind: Kind) -> Bool { UInt8(truncatingIfNeeded: tape[index] >> 56) == kind.rawValue }

  @inlinable public var isContainer: Bool { isKind(.object) || isKind(.array) }

  // MARK: Scalars

  /// The decoded bytes, or nil if the value is no string.
  @inlinable public var string: ByteView? {
    guard isKind(.string) else { return nil }
    var length = 0
    let bytes = cj_string(tape, strings, index, &length)
    return ByteView(start: bytes, count: length)
  }

  public var text: String? { string?.text }

  @inlinable public var bool: Bool? { isKind(.true) ? true : isKind(.false) ? false : nil }

  /// The integer, or nil if the value is no whole number of 64 bits; `1.0` is 1.
  public var integer: Int64? {
    switch kind {
    case .integer: cj_int64(tape, index)
    case .number: Int64(whole: cj_double(tape, index))
    default: nil
    }
  }

  /// The number, rounded to a double if need be, or nil if the value is none.
  public var double: Double? {
    switch kind {
    case .integer: Double(cj_int64(tape, index))
    case .unsigned: Double(cj_uint64(tape, index))
    case .number: cj_double(tape, index)
    default: nil
    }
  }

  @inlinable public func isString(_ text: StaticString) -> Bool { string.map { $0.equals(text) } ?? false }

  // MARK: Containers

  /// The elements of an array, or the names and values of an object in turn; empty for a scalar.
  public var children: [TapeValue] {
    guard isContainer else { return [] }
    var children: [TapeValue] = []
    var next = cj_first(index)
    while next < cj_end(tape, index) {
      children.append(value(at: next))
      next = cj_next(tape, next)
    }
    return children
  }

  /// Whether it has more than `limit` lists, objects and members of objects, itself included, at any depth.
  ///
  /// The tape has two words or more for each, so that only a long one is read.
  public func hasMoreParts(than limit: Int) -> Bool {
    let end = cj_next(tape, index)
    guard end - index > limit else { return false }
    var (next, count) = (index, 0)
    while next < end {
      let value = value(at: next)
      if value.isContainer { count += 1 }
      if value.isKind(.object) { count += cj_count(tape, next) }
      next = value.isContainer ? cj_first(next) : cj_next(tape, next)
    }
    return count > limit
  }

  /// The last member called `name`, or nil if there is none, it is null, or the value is no object.
  public func member(_ name: StaticString) -> TapeValue? {
    guard isKind(.object) else { return nil }
    let bytes = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    let found = cj_member(tape, strings, index, bytes, name.utf8CodeUnitCount)
    return found == 0 || value(at: found).isKind(.null) ? nil : value(at: found)
  }

  /// The members of an object in their order, those whose value is null too.
  ///
  /// - Precondition: The value is an object.
  @inlinable public var members: TapeMembers { TapeMembers(self) }
}

/// Walks an object's members on the tape alone.
public struct TapeMembers {
  @usableFromInline let object: TapeValue
  @usableFromInline let end: Int
  @usableFromInline var index: Int

  @inlinable
  @inline(__always)
  init(_ object: TapeValue) {
    self.object = object
    end = cj_end(object.tape, object.index)
    index = cj_first(object.index)
  }

  @inlinable
  @inline(__always)
  public mutating func next() -> (name: ByteView, value: TapeValue)? {
    guard index < end else { return nil }
    var length = 0
    let name = cj_string(object.tape, object.strings, index, &length)
    let value = object.value(at: index + 1)
    index = cj_next(object.tape, index + 1)
    return (ByteView(start: name, count: length), value)
  }
}
