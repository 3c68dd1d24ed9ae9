/// A growable run of bytes that its owner fills, hands on and fills again without allocating.
///
/// Every byte of a reply and of a commit passes through one of these, so appending is inlined across modules and never
/// bridges to `String`. A buffer belongs to one thread at a time; handing it to another hands over all of it. Only the buffer's own
/// functions change `base`, `count` and `capacity`; they are settable for these functions to be inlined.
package final class ByteBuffer: @unchecked Sendable {  // confined: one thread owns a buffer at a time
  /// The first byte; valid until the next append.
  package var base: UnsafeMutablePointer<UInt8>
  /// How many bytes are held.
  package var count: Int = 0
  /// How many bytes fit before the buffer grows.
  package var capacity: Int

  /// An empty buffer with room for `capacity` bytes.
  package init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    base = UnsafeMutablePointer<UInt8>.allocate(capacity: self.capacity)
  }

  deinit { base.deallocate() }

  /// The bytes held; valid until the next append or removal.
  @inlinable package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Makes room for `extra` more bytes.
  @inlinable package func reserve(_ extra: Int) {
    if count + extra > capacity { grow(extra) }
  }

  /// Moves the bytes to where `extra` more have room.
  package func grow(_ extra: Int) {
    let wanted = max(capacity * 2, count + extra)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
    grown.update(from: base, count: count)
    base.deallocate()
    base = grown
    capacity = wanted
  }

  /// Forgets the bytes and keeps the room.
  @inlinable package func removeAll() { count = 0 }

  /// Forgets the bytes after the first `length`.
  @inlinable package func truncate(to length: Int) {
    precondition(length >= 0 && length <= count)
    count = length
  }

  /// Removes the first `length` bytes and moves the rest to the front.
  package func removeFirst(_ length: Int) {
    precondition(length >= 0 && length <= count)
    if length > 0 { base.update(from: base + length, count: count - length) }
    count -= length
  }

  /// Counts `length` bytes that the caller has written behind `count` as held.
  @inlinable package func advance(_ length: Int) {
    precondition(count + length <= capacity)
    count += length
  }

  /// Appends one byte.
  @inlinable package func append(_ byte: UInt8) {
    if count == capacity { reserve(1) }
    base[count] = byte
    count += 1
  }

  /// Appends the bytes of `other`.
  @inlinable package func append(_ other: UnsafeRawBufferPointer) {
    guard let start = other.baseAddress, !other.isEmpty else { return }
    reserve(other.count)
    UnsafeMutableRawPointer(base + count).copyMemory(from: start, byteCount: other.count)
    count += other.count
  }

  /// Appends what `other` holds.
  @inlinable package func append(_ other: ByteBuffer) { append(other.bytes) }

  /// Appends a literal.
  @inlinable package func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends the UTF-8 of `text`.
  package func append(contentsOf text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends `value` in decimal.
  package func append(decimal value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    var magnitude = value.magnitude
    reserve(20)
    var digits = 1
    var bound: UInt64 = 10
    while digits < 20, magnitude >= bound {
      digits += 1
      let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
      if overflow { break }
      bound = next
    }
    var index = count + digits
    count = index
    repeat {
      index -= 1
      base[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: magnitude % 10)
      magnitude /= 10
    } while magnitude > 0
  }

  /// Appends `text` as a JSON string with its quotes, escaping what RFC 8259 section 7 requires.
  package func append(jsonString text: UnsafeRawBufferPointer) {
    reserve(text.count + 2)
    append(UInt8(ascii: "\""))
    var start = 0
    for index in 0..<text.count {
      let byte = text[index]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
      append(UnsafeRawBufferPointer(rebasing: text[start..<index]))
      append(escaped: byte)
      start = index + 1
    }
    append(UnsafeRawBufferPointer(rebasing: text[start..<text.count]))
    append(UInt8(ascii: "\""))
  }

  /// Appends `text` as a JSON string with its quotes.
  package func append(jsonString text: String) {
    var text = text
    text.withUTF8 { append(jsonString: UnsafeRawBufferPointer($0)) }
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
      append(hexDigit: byte >> 4)
      append(hexDigit: byte & 15)
    }
  }

  /// Appends the lower-case hexadecimal digit of `nibble` (0 to 15).
  package func append(hexDigit nibble: UInt8) {
    append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
  }

  /// The bytes held, as text; malformed UTF-8 is repaired.
  package var text: String { String(decoding: bytes, as: UTF8.self) }
}
