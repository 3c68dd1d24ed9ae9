/// Bytes that somebody else owns: a part of a `ByteBuffer`, of a parsed line, of a plugin's VM or of the store.
///
/// A view is a start and a length. It copies nothing and keeps nothing alive, so it can be stored for the time of an event, but not for longer than
/// the function that hands it out promises. The view of a buffer is valid until the buffer's next change: debug builds trap when it is used later, also
/// when the buffer has been freed. Access outside of its bounds traps in every build.
///
/// Above the modules that call C, this type stands in signatures where C has a pointer and a length (docs/decisions/29).
@frozen
public struct ByteView: RandomAccessCollection {
  @usableFromInline let start: UnsafeRawPointer?
  public let count: Int
  #if DEBUG
    /// The changes of the bytes' owner, nil for an owner that does not count them; and how many there were when the view was made.
    @usableFromInline let changes: ByteChanges?
    @usableFromInline let expected: Int
  #endif

  // MARK: Views of memory

  /// The `count` bytes at `start`; nil is for no bytes only.
  ///
  /// For the modules that call C: the caller makes sure that the memory outlives the view.
  @inlinable
  @inline(__always)
  public init(start: UnsafeRawPointer?, count: Int) {
    assert(count >= 0 && (start != nil || count == 0))
    self.start = start
    self.count = count
    #if DEBUG
      changes = nil
      expected = 0
    #endif
  }

  /// The bytes of `memory`.
  ///
  /// For the modules that call C: the caller makes sure that the memory outlives the view.
  @inlinable
  @inline(__always)
  public init(_ memory: UnsafeRawBufferPointer) { self.init(start: memory.baseAddress, count: memory.count) }

  /// The bytes of `memory`, which nobody changes as long as the view is used.
  ///
  /// For the modules that call C: the caller makes sure that the memory outlives the view.
  @inlinable
  @inline(__always)
  public init(_ memory: UnsafeMutableRawBufferPointer) { self.init(start: memory.baseAddress, count: memory.count) }

  /// The bytes of a literal, which are always valid.
  @inlinable
  @inline(__always)
  public init(_ text: StaticString) { self.init(start: text.utf8Start, count: text.utf8CodeUnitCount) }

  @inlinable
  @inline(__always)
  public static var empty: ByteView { ByteView(start: nil, count: 0) }

  /// The `count` bytes at `start`, which are valid until `changes` counts the next change.
  @inlinable
  @inline(__always)
  public init(start: UnsafeRawPointer, count: Int, until changes: ByteChanges) {
    self.start = start
    self.count = count
    #if DEBUG
      self.changes = changes
      expected = changes.count
    #endif
  }

  /// In debug builds, traps if the owner has changed since the view was made.
  @inlinable
  @inline(__always)
  func checkOwner() {
    #if DEBUG
      if let changes { precondition(changes.count == expected, "the bytes of a view were changed or freed") }
    #endif
  }

  /// The memory of the view, for calls of C; valid as long as the view.
  @inlinable public var memory: UnsafeRawBufferPointer {
    @inline(__always) get {
      checkOwner()
      return UnsafeRawBufferPointer(start: start, count: count)
    }
  }

  /// The address of the first byte, for calls of C; it may be nil if there are no bytes.
  @inlinable public var baseAddress: UnsafeRawPointer? {
    @inline(__always) get {
      checkOwner()
      return start
    }
  }

  // MARK: Bytes

  @inlinable public var startIndex: Int { @inline(__always) get { 0 } }

  @inlinable public var endIndex: Int { @inline(__always) get { count } }

  @inlinable
  public subscript(index: Int) -> UInt8 {
    @inline(__always) get {
      precondition(index >= 0 && index < count)
      return load(uncheckedAt: index, as: UInt8.self)
    }
  }

  /// A view of the bytes in `range`, whose first index is 0.
  @inlinable
  @inline(__always)
  public func extracting(_ range: Range<Int>) -> ByteView {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    checkOwner()
    let start = start.map { $0 + range.lowerBound }
    return ByteView(start: start, count: range.count, as: self)
  }

  /// A view of the bytes after the first `length`; empty if there are no more.
  @inlinable
  @inline(__always)
  public func extracting(droppingFirst length: Int) -> ByteView { extracting(Swift.min(length, count)..<count) }

  /// A view of the first `length` bytes, or of all if there are fewer.
  @inlinable
  @inline(__always)
  public func extracting(first length: Int) -> ByteView { extracting(0..<Swift.min(length, count)) }

  /// A part of another view.
  @inlinable
  @inline(__always)
  init(start: UnsafeRawPointer?, count: Int, as other: ByteView) {
    self.start = start
    self.count = count
    #if DEBUG
      changes = other.changes
      expected = other.expected
    #endif
  }

  @inlinable
  @inline(__always)
  public func extracting(_ range: some RangeExpression<Int>) -> ByteView { extracting(range.relative(to: self)) }

  /// The integer whose bytes are at `offset`, in the order of this machine.
  @inlinable
  @inline(__always)
  public func load<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
    precondition(offset >= 0 && offset <= count - MemoryLayout<Value>.size)
    return load(uncheckedAt: offset, as: type)
  }

  /// The integer whose bytes are at `offset`, for loops that have checked the bounds; only debug builds check them again.
  @inlinable
  @inline(__always)
  func load<Value: FixedWidthInteger>(uncheckedAt offset: Int, as type: Value.Type) -> Value {
    assert(offset >= 0 && offset <= count - MemoryLayout<Value>.size)
    checkOwner()
    return start.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: type)
  }

  /// The number that the bytes are, most significant first; nil if they are not eight.
  package var number: UInt64? { count == 8 ? UInt64(bigEndian: load(at: 0, as: UInt64.self)) : nil }

  /// Calls `body` with the bytes: makes strings and arrays of a view without a loop.
  @inlinable
  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result? {
    try memory.withMemoryRebound(to: UInt8.self, body)
  }

  /// Copies the bytes in one step: arrays are made of a view by this.
  @inlinable
  public func _copyContents(initializing buffer: UnsafeMutableBufferPointer<UInt8>) -> (Iterator, Int) {
    precondition(buffer.count >= count)
    if count > 0 { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: memory) }
    return (Iterator(extracting(droppingFirst: count)), count)
  }

  @inlinable
  @inline(__always)
  public func makeIterator() -> Iterator { Iterator(self) }

  @frozen
  public struct Iterator: IteratorProtocol {
    @usableFromInline let view: ByteView
    @usableFromInline var index = 0

    @inlinable
    @inline(__always)
    init(_ view: ByteView) { self.view = view }

    @inlinable
    @inline(__always)
    public mutating func next() -> UInt8? {
      guard index < view.count else { return nil }
      defer { index &+= 1 }
      return view.load(uncheckedAt: index, as: UInt8.self)
    }
  }
}

extension Collection<UInt8> {
  /// The bytes as text; malformed UTF-8 is repaired.
  @inlinable package var text: String { String(decoding: self, as: UTF8.self) }

  /// The bytes in lower-case hexadecimal digits.
  package var hex: String {
    let buffer = ByteBuffer(capacity: 2 * count)
    for byte in self { buffer.append(hex: byte) }
    return buffer.text
  }
}

extension [UInt8] {
  /// Calls `body` with a view of the bytes, which is valid during the call.
  @inlinable
  @inline(__always)
  public func withView<Result, Thrown>(_ body: (ByteView) throws(Thrown) -> Result) throws(Thrown) -> Result {
    try span.bytes.withUnsafeBytes { memory throws(Thrown) in try ByteChanges.lend(memory, body) }
  }
}

extension ArraySlice<UInt8> {
  /// Calls `body` with a view of the bytes, whose first index is 0 and which is valid during the call.
  @inlinable
  @inline(__always)
  public func withView<Result, Thrown>(_ body: (ByteView) throws(Thrown) -> Result) throws(Thrown) -> Result {
    try span.bytes.withUnsafeBytes { memory throws(Thrown) in try ByteChanges.lend(memory, body) }
  }
}

extension String {
  /// Calls `body` with a view of the UTF-8 of the text, which is valid during the call.
  @inlinable
  @inline(__always)
  public func withView<Result, Thrown>(_ body: (ByteView) throws(Thrown) -> Result) throws(Thrown) -> Result {
    try utf8.span.bytes.withUnsafeBytes { memory throws(Thrown) in try ByteChanges.lend(memory, body) }
  }
}
