/// The bytes of writes in the representation that RocksDB itself uses.
///
/// A header of 12 bytes (8 for the sequence, zero until the database gives one; 4 for the number of records, little
/// endian), then records: a tag, and one or two strings with their lengths as varint32 before them. See
/// `db/write_batch.cc` of RocksDB. Since this is what the database takes, committing copies it once and adding one
/// batch to another is one copy too.
struct WriteBatch {
  /// Where the records begin.
  static let headerSize = 12

  /// What a record does.
  enum Tag: UInt8 {
    case delete = 0x0
    case put = 0x1
    case deleteRange = 0xF
  }

  /// The first byte of the header.
  private(set) var base: UnsafeMutableRawPointer
  /// How many bytes are in use, header included.
  private(set) var used = WriteBatch.headerSize
  /// How many records there are.
  private(set) var records: UInt32 = 0
  private var capacity: Int

  /// A batch without records, with room for `capacity` bytes; its owner calls `deallocate`.
  init(capacity: Int) {
    self.capacity = max(capacity, 64)
    base = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 8)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: Self.headerSize)
  }

  /// Gives the memory back; nothing may be called after it.
  func deallocate() { base.deallocate() }

  /// Appends a record of one string.
  mutating func append(_ tag: Tag, _ first: UnsafeRawBufferPointer) {
    reserve(6 + first.count)
    base.storeBytes(of: tag.rawValue, toByteOffset: used, as: UInt8.self)
    used += 1
    appendString(first)
    setRecords(records + 1)
  }

  /// Appends a record of two strings.
  mutating func append(_ tag: Tag, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) {
    reserve(11 + first.count + second.count)
    base.storeBytes(of: tag.rawValue, toByteOffset: used, as: UInt8.self)
    used += 1
    appendString(first)
    appendString(second)
    setRecords(records + 1)
  }

  /// Appends all records of `other`.
  mutating func append(_ other: WriteBatch) {
    let length = other.used - Self.headerSize
    reserve(length)
    (base + used).copyMemory(from: other.base + Self.headerSize, byteCount: length)
    used += length
    setRecords(records + other.records)
  }

  /// Forgets the records that came after `used` bytes and `records` records had been there.
  mutating func truncate(used: Int, records: UInt32) {
    precondition(used >= Self.headerSize && used <= self.used && records <= self.records)
    self.used = used
    setRecords(records)
  }

  /// Reads the record at `offset` and moves `offset` behind it; nil at the end.
  func record(at offset: inout Int) -> WriteOperation? {
    guard offset < used else { return nil }
    let tag = base.load(fromByteOffset: offset, as: UInt8.self)
    offset += 1
    let first = string(at: &offset)
    switch Tag(rawValue: tag) {
    case .put: return .put(key: first, value: string(at: &offset))
    case .delete: return .delete(key: first)
    case .deleteRange: return .deleteRange(from: first, to: string(at: &offset))
    case nil: preconditionFailure("a record begins with the unknown tag \(tag)")
    }
  }

  private mutating func reserve(_ extra: Int) {
    guard used + extra > capacity else { return }
    capacity = max(capacity * 2, used + extra)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    grown.copyMemory(from: base, byteCount: used)
    base.deallocate()
    base = grown
  }

  private mutating func setRecords(_ count: UInt32) {
    records = count
    base.storeBytes(of: count.littleEndian, toByteOffset: 8, as: UInt32.self)
  }

  private mutating func appendString(_ bytes: UnsafeRawBufferPointer) {
    var rest = UInt32(bytes.count)
    while rest >= 0x80 {
      base.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: used, as: UInt8.self)
      used += 1
      rest >>= 7
    }
    base.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: used, as: UInt8.self)
    used += 1
    if let start = bytes.baseAddress, !bytes.isEmpty {
      (base + used).copyMemory(from: start, byteCount: bytes.count)
      used += bytes.count
    }
  }

  private func string(at offset: inout Int) -> UnsafeRawBufferPointer {
    var length = 0
    var shift = 0
    while true {
      let byte = base.load(fromByteOffset: offset, as: UInt8.self)
      offset += 1
      length |= Int(byte & 0x7F) << shift
      if byte < 0x80 { break }
      shift += 7
    }
    defer { offset += length }
    return UnsafeRawBufferPointer(start: base + offset, count: length)
  }
}
