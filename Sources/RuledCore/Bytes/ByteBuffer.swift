import Glibc

/// A growable run of bytes that its owner fills, hands on and fills again without allocating.
///
/// Every byte of a reply and of a commit passes through one of these. So appending is inlined across modules, which the compiler does for
/// public types only (docs/decisions/27), and never bridges to `String`.
/// A buffer belongs to one thread at a time; whoever hands it to another thread hands over all of it.
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

  /// How many bytes are held.
  @inlinable public var count: Int { used }

  /// How many bytes fit before the buffer grows.
  @inlinable public var capacity: Int { room }

  /// The bytes held; valid until the next append or removal.
  @inlinable public var bytes: ByteView { ByteView(start: storage, count: used, until: changes) }

  /// The bytes held, as text; malformed UTF-8 is repaired.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The index of the first `byte` at `start` or later, or nil if there is none.
  public func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
    precondition(start >= 0 && start <= used)
    guard let found = memchr(storage + start, Int32(byte), used - start) else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(storage)
  }

  // MARK: Room

  /// Makes room for `extra` more bytes.
  @inlinable public func reserve(_ extra: Int) {
    if used + extra > room { grow(by: extra) }
  }

  /// Moves the bytes to storage where `extra` more have room.
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

  /// Removes the bytes after the first `length`.
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

  /// Appends one byte.
  @inlinable public func append(_ byte: UInt8) {
    if used == room { grow(by: 1) }
    storage[used] = byte
    used += 1
  }

  /// Appends the bytes of `other`.
  @inlinable public func append(_ other: ByteView) {
    let length = other.count
    guard length > 0 else { return }
    reserve(length)
    guard let start = other.baseAddress else { return }
    UnsafeMutableRawPointer(storage + used).copyMemory(from: start, byteCount: length)
    used += length
  }

  /// Appends what `other` holds.
  @inlinable public func append(_ other: ByteBuffer) { append(other.bytes) }

  /// Appends a literal.
  @inlinable
  @inline(__always)
  public func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    reserve(length)
    UnsafeMutableRawPointer(storage + used).copyMemory(from: text.utf8Start, byteCount: length)
    used += length
  }

  /// Appends the UTF-8 of `text`.
  public func append(contentsOf text: String) {
    text.withView { append($0) }
  }

  /// Appends what `body` writes into room for `length` bytes.
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

  /// Appends the eight bytes of `value`, the most significant first.
  @inlinable public func append(bigEndian value: UInt64) {
    reserve(8)
    UnsafeMutableRawPointer(storage + used).storeBytes(of: value.bigEndian, as: UInt64.self)
    used += 8
  }

  /// Writes the eight bytes of `value`, the most significant first, over those from `offset` on.
  package func overwrite(at offset: Int, bigEndian value: UInt64) {
    precondition(offset >= 0 && offset <= used - 8)
    UnsafeMutableRawPointer(storage + offset).storeBytes(of: value.bigEndian, as: UInt64.self)
    changes.endViews()
  }

  /// Appends the four bytes of `value`, the most significant first.
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
