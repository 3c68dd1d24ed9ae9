/// A growable run of bytes that its owner fills, hands on and fills again without allocating.
///
/// Every byte of a reply and of a commit passes through one of these, so appending is inlined across modules, which the compiler does for
/// public functions alone, and never bridges to `String`. A buffer belongs to one thread at a time; handing it to another hands over all
/// of it. Only the buffer's own functions change `base`, `count` and `capacity`; they are settable for these functions to be inlined.
public final class ByteBuffer: @unchecked Sendable {  // confined: one thread owns a buffer at a time
  /// The first byte; valid until the next append.
  public var base: UnsafeMutablePointer<UInt8>
  /// How many bytes are held.
  public var count: Int = 0
  /// How many bytes fit before the buffer grows.
  public var capacity: Int

  /// An empty buffer with room for `capacity` bytes.
  public init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    base = UnsafeMutablePointer<UInt8>.allocate(capacity: self.capacity)
  }

  deinit { base.deallocate() }

  /// The bytes held; valid until the next append or removal.
  @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Makes room for `extra` more bytes.
  @inlinable public func reserve(_ extra: Int) {
    if count + extra > capacity { grow(extra) }
  }

  /// Moves the bytes to where `extra` more have room.
  @inline(never)
  public func grow(_ extra: Int) {
    let wanted = max(capacity * 2, count + extra)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
    grown.update(from: base, count: count)
    base.deallocate()
    base = grown
    capacity = wanted
  }

  /// Forgets the bytes and keeps the room.
  @inlinable public func removeAll() { count = 0 }

  /// Forgets the bytes after the first `length`.
  @inlinable public func truncate(to length: Int) {
    precondition(length >= 0 && length <= count)
    count = length
  }

  /// Removes the first `length` bytes and moves the rest to the front.
  public func removeFirst(_ length: Int) {
    precondition(length >= 0 && length <= count)
    if length > 0 { base.update(from: base + length, count: count - length) }
    count -= length
  }

  /// Counts `length` bytes that the caller has written behind `count` as held.
  @inlinable public func advance(_ length: Int) {
    precondition(count + length <= capacity)
    count += length
  }

  /// Appends one byte.
  @inlinable public func append(_ byte: UInt8) {
    if count == capacity { reserve(1) }
    base[count] = byte
    count += 1
  }

  /// Appends the bytes of `other`.
  @inlinable public func append(_ other: UnsafeRawBufferPointer) {
    guard let start = other.baseAddress, !other.isEmpty else { return }
    reserve(other.count)
    UnsafeMutableRawPointer(base + count).copyMemory(from: start, byteCount: other.count)
    count += other.count
  }

  /// Appends what `other` holds.
  @inlinable public func append(_ other: ByteBuffer) { append(other.bytes) }

  /// Appends a literal.
  @inlinable
  @inline(__always)
  public func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    reserve(length)
    UnsafeMutableRawPointer(base + count).copyMemory(from: text.utf8Start, byteCount: length)
    count += length
  }

  /// Appends the UTF-8 of `text`.
  public func append(contentsOf text: String) {
    let written: Void? = text.utf8.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) }
    if written == nil { for byte in text.utf8 { append(byte) } }
  }

  /// The bytes held, as text; malformed UTF-8 is repaired.
  public var text: String { String(decoding: bytes, as: UTF8.self) }
}
