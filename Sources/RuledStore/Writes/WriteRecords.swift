package import RuledCore

/// The bytes of writes, as the redo log has them too: for each a record of a tag and one or two strings, each with its length as varint32 before it.
struct WriteRecords {
  enum Tag: UInt8 {
    case delete = 0x0
    case put = 0x1
    /// For the journal: it writes nothing, so neither index nor database gets it.
    case journal = 0x2
  }

  private(set) var base: UnsafeMutableRawPointer
  /// How many bytes are in use.
  private(set) var used = 0
  private(set) var count: UInt32 = 0
  private(set) var capacity: Int

  /// No records, with room for `capacity` bytes; the owner calls `deallocate`.
  init(capacity: Int) {
    self.capacity = max(capacity, 64)
    base = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 8)
  }

  /// Frees the memory; nothing may be called after it.
  func deallocate() { base.deallocate() }

  mutating func append(_ tag: Tag, _ first: ByteView) {
    reserve(6 + first.count)
    base.storeBytes(of: tag.rawValue, toByteOffset: used, as: UInt8.self)
    used += 1
    appendString(first)
    count += 1
  }

  mutating func append(_ tag: Tag, _ first: ByteView, _ second: ByteView) {
    reserve(11 + first.count + second.count)
    base.storeBytes(of: tag.rawValue, toByteOffset: used, as: UInt8.self)
    used += 1
    appendString(first)
    appendString(second)
    count += 1
  }

  mutating func append(_ other: WriteRecords) {
    reserve(other.used)
    (base + used).copyMemory(from: other.base, byteCount: other.used)
    used += other.used
    count += other.count
  }

  /// Appends records as bytes; false, and nothing is appended, if they are not whole.
  mutating func append(records: ByteView) -> Bool {
    var offset = 0
    var found: UInt32 = 0
    while offset < records.count {
      guard let tag = Tag(rawValue: records[offset]) else { return false }
      offset += 1
      guard Self.checkedString(in: records, at: &offset) != nil else { return false }
      if tag != .delete, Self.checkedString(in: records, at: &offset) == nil { return false }
      found += 1
    }
    reserve(records.count)
    if let start = records.baseAddress { (base + used).copyMemory(from: start, byteCount: records.count) }
    used += records.count
    count += found
    return true
  }

  /// Removes the records behind the first `count`, which have `used` bytes.
  mutating func truncate(used: Int, count: UInt32) {
    precondition(used >= 0 && used <= self.used && count <= self.count)
    self.used = used
    self.count = count
  }

  /// Reads the record at `offset` and moves `offset` behind it; nil at the end.
  func operation(at offset: inout Int) -> WriteOperation? {
    guard offset < used else { return nil }
    return Self.operation(in: base, at: &offset)
  }

  /// Sets the last eight bytes of the record at `offset`, which are part of its second string.
  func setEnd(ofRecordAt offset: Int, to number: UInt64) {
    var end = offset
    guard case .put(_, let value)? = operation(at: &end), value.count >= 8 else { return }
    base.storeBytes(of: number.bigEndian, toByteOffset: end - 8, as: UInt64.self)
  }

  /// Reads the record at `base + offset`, which is whole, and moves `offset` behind it.
  static func operation(in base: UnsafeRawPointer, at offset: inout Int) -> WriteOperation {
    let tag = base.load(fromByteOffset: offset, as: UInt8.self)
    offset += 1
    let first = string(in: base, at: &offset)
    switch Tag(rawValue: tag) {
    case .put: return .put(key: first, value: string(in: base, at: &offset))
    case .delete: return .delete(key: first)
    case .journal: return .journal(head: first, text: string(in: base, at: &offset))
    case nil: preconditionFailure("a record begins with the unknown tag \(tag)")
    }
  }

  static func isForJournal(in base: UnsafeRawPointer, at offset: Int) -> Bool {
    base.load(fromByteOffset: offset, as: UInt8.self) == Tag.journal.rawValue
  }

  /// Calls `body` with the keys of the records in bytes that may be damaged, until one can't be read.
  static func forEachKey(inDamaged bytes: ByteView, _ body: (ByteView) -> Void) {
    var offset = 0
    while offset < bytes.count, let tag = Tag(rawValue: bytes[offset]) {
      offset += 1
      guard let key = checkedString(in: bytes, at: &offset) else { return }
      if tag != .journal { body(key) }
      if tag != .delete, checkedString(in: bytes, at: &offset) == nil { return }
    }
  }

  /// The string at `offset` in bytes that may be damaged, and moves `offset` behind it; nil if there is no whole one.
  private static func checkedString(in bytes: ByteView, at offset: inout Int) -> ByteView? {
    var length = 0
    var shift = 0
    while shift < 35, offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      length |= Int(byte & 0x7F) << shift
      shift += 7
      guard byte < 0x80 else { continue }
      guard length <= bytes.count - offset else { return nil }
      defer { offset += length }
      return bytes.extracting(offset..<(offset + length))
    }
    return nil
  }

  private mutating func reserve(_ extra: Int) {
    guard used + extra > capacity else { return }
    capacity = max(capacity * 2, used + extra)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    grown.copyMemory(from: base, byteCount: used)
    base.deallocate()
    base = grown
  }

  private mutating func appendString(_ bytes: ByteView) {
    var length = UInt32(bytes.count)
    while length >= 0x80 {
      base.storeBytes(of: UInt8(truncatingIfNeeded: length) | 0x80, toByteOffset: used, as: UInt8.self)
      used += 1
      length >>= 7
    }
    base.storeBytes(of: UInt8(truncatingIfNeeded: length), toByteOffset: used, as: UInt8.self)
    used += 1
    if let start = bytes.baseAddress, !bytes.isEmpty {
      (base + used).copyMemory(from: start, byteCount: bytes.count)
      used += bytes.count
    }
  }

  @inline(__always)
  private static func string(in base: UnsafeRawPointer, at offset: inout Int) -> ByteView {
    var length = Int(base.load(fromByteOffset: offset, as: UInt8.self))
    offset += 1
    if length >= 0x80 {
      length &= 0x7F
      var shift = 7
      while true {
        let byte = base.load(fromByteOffset: offset, as: UInt8.self)
        offset += 1
        length |= Int(byte & 0x7F) << shift
        if byte < 0x80 { break }
        shift += 7
      }
    }
    defer { offset += length }
    return ByteView(start: base + offset, count: length)
  }
}

/// One record of a set; its bytes belong to the set and are valid until that changes.
package enum WriteOperation {
  case put(key: ByteView, value: ByteView)
  case delete(key: ByteView)
  /// Writes nothing: a record for the journal.
  case journal(head: ByteView, text: ByteView)

  /// The key; empty, as no key is, for a record that writes nothing.
  var key: ByteView {
    switch self {
    case .put(let key, _), .delete(let key): key
    case .journal: ByteView.empty
    }
  }
}
