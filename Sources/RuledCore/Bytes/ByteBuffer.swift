import Glibc

/// A growable run of bytes that its owner fills, hands on and fills again without allocating.
///
/// Every byte of a reply and of a commit passes through one of these. So appending is inlined across modules, which the compiler does for
/// public types only (docs/decisions/27), and never bridges to `String`.
/// A buffer belongs to one thread at a time; a thread that hands it to another one hands over all of it.
public final class ByteBuffer: @unchecked Sendable {  // confined: one thread owns a buffer at a time
  /// The first byte of the storage; growing replaces it.
  @usableFromInline var storage: UnsafeMutablePointer<UInt8>
  @usableFromInline var room: Int
  @usableFromInline let changes = ByteChanges()
  #if DEBUG
    @usableFromInline var used = 0 { didSet { changes.endViews() } }
  #else
    @usableFromInline var used = 0
  #endif

  /// An empty buffer with room for `capacity` bytes, 16 at least.
  public init(capacity: Int = 256) {
    room = max(capacity, 16)
    storage = UnsafeMutablePointer<UInt8>.allocate(capacity: room)
  }

  deinit {
    changes.endViews()
    storage.deallocate()
  }

  @inlinable public var count: Int { used }

  @inlinable public var capacity: Int { room }

  /// The bytes held; valid until the next append or removal.
  @inlinable public var bytes: ByteView { ByteView(start: storage, count: used, until: changes) }

  /// The bytes held, as text; malformed UTF-8 is repaired.
  public var text: String { bytes.text }

  /// The number that the bytes are, most significant first; nil if they are not eight.
  package var number: UInt64? { bytes.number }

  public func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    precondition(start >= 0 && start <= used)
    guard let found = memchr(storage + start, Int32(byte), used - start) else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(storage)
  }

  // MARK: Room

  @inlinable public func reserve(_ extra: Int) {
    if used + extra > room { grow(by: extra) }
  }

  @_effects(releasenone)
  @inline(never)
  @usableFromInline
  func grow(by extra: Int) {
    let capacity = max(room * 2, used + extra)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    grown.update(from: storage, count: used)
    storage.deallocate()
    storage = grown
    room = capacity
    changes.endViews()
  }

  // MARK: Removing

  /// Removes all bytes and keeps the room.
  @inlinable public func removeAll() { used = 0 }

  @inlinable public func truncate(to length: Int) {
    precondition(length >= 0 && length <= used)
    used = length
  }

  /// Removes the first `length` bytes and moves the remaining ones to the front.
  public func removeFirst(_ length: Int) {
    precondition(length >= 0 && length <= used)
    if length > 0 { storage.update(from: storage + length, count: used - length) }
    used -= length
  }

  // MARK: Appending

  @inlinable public func append(_ byte: UInt8) {
    if used == room { grow(by: 1) }
    storage[used] = byte
    used += 1
  }

  @inlinable public func append(_ other: ByteView) {
    let length = other.count
    guard length > 0 else { return }
    reserve(length)
    guard let start = other.baseAddress else { return }
    UnsafeMutableRawPointer(storage + used).copyMemory(from: start, byteCount: length)
    used += length
  }

  @inlinable public func append(_ other: ByteBuffer) { append(other.bytes) }

  @inlinable
  @inline(__always)
  public func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    reserve(length)
    UnsafeMutableRawPointer(storage + used).copyMemory(from: text.utf8Start, byteCount: length)
    used += length
  }

  public func append(contentsOf text: String) {
    text.withView { append($0) }
  }

  /// Appends the bytes that `body` writes into room for `length` bytes.
  ///
  /// - Parameters:
  ///   - length: How much room there is for `body`.
  ///   - body: Appends to the span, which is empty at first.
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws; nothing is appended then.
  @inlinable
  @discardableResult
  public func append<Result, Failure>(
    upTo length: Int, _ body: (inout OutputRawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    reserve(length)
    let free = UnsafeMutableRawBufferPointer(start: storage + used, count: length)
    var span = OutputRawSpan(buffer: free, initializedCount: 0)
    let result = try body(&span)
    used += span.finalize(for: free)
    return result
  }

  @inlinable public func append(bigEndian value: UInt64) {
    reserve(8)
    UnsafeMutableRawPointer(storage + used).storeBytes(of: value.bigEndian, as: UInt64.self)
    used += 8
  }

  package func overwrite(at offset: Int, bigEndian value: UInt64) {
    precondition(offset >= 0 && offset <= used - 8)
    UnsafeMutableRawPointer(storage + offset).storeBytes(of: value.bigEndian, as: UInt64.self)
    changes.endViews()
  }

  @inlinable public func append(bigEndian value: UInt32) {
    reserve(4)
    UnsafeMutableRawPointer(storage + used).storeBytes(of: value.bigEndian, as: UInt32.self)
    used += 4
  }

  /// Appends `value` in groups of seven bits, the least significant first, each but the last with its high bit set.
  @inlinable public func append(varint value: UInt64) {
    var remaining = value
    while remaining >= 0x80 {
      append(UInt8(truncatingIfNeeded: remaining) | 0x80)
      remaining >>= 7
    }
    append(UInt8(truncatingIfNeeded: remaining))
  }
}

extension ByteBuffer {
  // MARK: Numbers

  public func append(decimal value: Int64) {
    reserve(20)
    var magnitude = value.magnitude
    if value < 0 {
      storage[used] = UInt8(ascii: "-")
      used += 1
    }
    used += Self.digits(magnitude)
    var end = storage + used
    while magnitude >= 10 {
      let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
      end -= 1
      end.pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: remainder)
      magnitude = quotient
    }
    (end - 1).pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: magnitude)
  }

  /// Appends the last `digits` decimal digits of `value`, zeros included, and an ASCII character.
  func append(_ value: Int, digits: Int, then character: Unicode.Scalar) {
    reserve(digits + 1)
    let end = storage + used
    var rest = value
    for position in (0..<digits).reversed() {
      end[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    end[digits] = UInt8(ascii: character)
    used += digits + 1
  }

  private static func digits(_ value: UInt64) -> Int {
    var digits = 1
    var bound: UInt64 = 10
    while digits < 19, value >= bound {
      digits += 1
      bound &*= 10
    }
    return digits == 19 && value >= bound ? 20 : digits
  }

  /// Appends the lower-case hexadecimal digit of `nibble` (0 to 15).
  public func append(hexDigit nibble: UInt8) {
    append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
  }

  /// Appends a byte as two hexadecimal digits, in lower case.
  package func append(hex byte: UInt8) {
    append(hexDigit: byte >> 4)
    append(hexDigit: byte & 15)
  }

  // MARK: JSON's scalars

  /// Appends `text` as a JSON string with its quotes, escaping what RFC 8259 section 7 requires.
  public func append(jsonString text: ByteView) {
    let length = text.count
    reserve(length + 2)
    guard let start = text.baseAddress, length > 0 else { return append("\"\"" as StaticString) }
    guard EightBytes.all(text, where: \.isPlainInJSON, and: { !Self.isEscaped($0) }) else {
      return append(escaping: text)
    }
    let end = storage + used
    end.pointee = UInt8(ascii: "\"")
    UnsafeMutableRawPointer(end + 1).copyMemory(from: start, byteCount: length)
    end[length + 1] = UInt8(ascii: "\"")
    used += length + 2
  }

  public func append(jsonString text: String) {
    text.withView { append(jsonString: $0) }
  }

  /// Appends the shortest JSON number that reads back as `value`, always with a point or an exponent.
  ///
  /// JSON has no infinities and no NaN: they become `null`, as in JavaScript.
  public func append(jsonNumber value: Double) {
    guard value.isFinite else { return append("null" as StaticString) }
    append(contentsOf: value.description)
  }

  /// Appends `name` in quotes and a colon, after a comma where `afterComma` is true.
  ///
  /// - Precondition: `name` needs no escape.
  @inlinable
  @inline(__always)
  public func append(jsonName name: StaticString, afterComma: Bool) {
    let length = name.utf8CodeUnitCount
    reserve(length + 4)
    var end = storage + used
    if afterComma {
      end.pointee = UInt8(ascii: ",")
      end += 1
    }
    end.pointee = UInt8(ascii: "\"")
    UnsafeMutableRawPointer(end + 1).copyMemory(from: name.utf8Start, byteCount: length)
    end[length + 1] = UInt8(ascii: "\"")
    end[length + 2] = UInt8(ascii: ":")
    used += length + (afterComma ? 4 : 3)
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private func append(escaping text: ByteView) {
    append(UInt8(ascii: "\""))
    var start = 0
    for index in 0..<text.count where Self.isEscaped(text[index]) {
      append(text.extracting(start..<index))
      append(escaped: text[index])
      start = index + 1
    }
    append(text.extracting(start..<text.count))
    append(UInt8(ascii: "\""))
  }

  private func append(escaped byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default:
      append("u00" as StaticString)
      append(hex: byte)
    }
  }
}
