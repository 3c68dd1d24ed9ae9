import RuledCore
import RuledStore

/// Reads a file of the journal: blocks, and at the end of a complete file an index of them.
///
/// It begins with `ruledrj2`, or with `ruledrj1` if an earlier version wrote it. A complete file ends with 16 bytes: the offset of the
/// index block and `rjindex1`. Any other file is scanned for whole blocks.
///
/// Bytes between whole blocks are damaged, and are a block without entries, whose contents can't be read. So are bytes behind the last whole block if
/// it is known that the file covers more, or if a write that was cut short can't have left them; else they are a torn end.
struct JournalFile {
  struct Block {
    let offset: Int
    let header: BlockHeader
    let filter: SubjectFilter
    /// Whether it is bytes between whole blocks.
    var isDamage = false

    /// The offset behind it.
    var end: Int { offset + header.total }
  }

  static let magic: UInt64 = 0x7275_6C65_6472_6A32
  /// The magic number of earlier versions, which do not know all kinds of blocks and would take them for a torn end.
  static let earlierMagic: UInt64 = 0x7275_6C65_6472_6A31
  static let indexMagic: UInt64 = 0x726A_696E_6465_7831
  static let headerBytes = 8
  static let trailerBytes = 16

  let path: String
  /// Its blocks of entries and gaps.
  let blocks: [Block]
  /// The offset at which they end.
  let end: Int
  /// The bytes of its blocks and its index.
  let bytes: Int
  /// Whether it has its index.
  let isComplete: Bool
  /// Whether an earlier version wrote it.
  ///
  /// Nothing is added to such a file, since that version may have to read it again.
  let isEarlier: Bool
  private let file: any StoreFile

  /// Opens a file; reads only its first `limit` bytes, or all if that is nil.
  ///
  /// `last` is the last sequence that the file covers, nil if it may end with a torn block. Of damage at the end the first sequence alone is then known.
  init(
    _ path: String, _ files: any FileSystem, limit: Int? = nil, through last: UInt64? = nil
  ) throws(StoreError) {
    self.path = path
    file = try files.open(path, .read)
    let size = min(try file.size(), limit ?? .max)
    let start = try Self.bytes(of: file, at: 0, count: min(size, Self.headerBytes))
    guard start.count == Self.headerBytes else {
      (blocks, end, bytes, isComplete, isEarlier) = ([], 0, 0, false, false)
      return
    }
    let magic = UInt64(bigEndian: start.bytes.load(at: 0, as: UInt64.self))
    isEarlier = magic == Self.earlierMagic
    if let (blocks, end) = try Self.index(of: file, size: size) {
      (self.blocks, self.end, bytes, isComplete) = (blocks, end, size, true)
    } else {
      (blocks, end) = try Self.scan(file, size: size, from: Self.first(inNameOf: path), through: last)
      (bytes, isComplete) = (end, false)
    }
    let isLater = magic >> 8 == Self.magic >> 8 && magic != Self.magic && !isEarlier
    guard !isLater || blocks.contains(where: { !$0.isDamage }) else {
      throw StoreError(.unsupported, "\(path) is no file of a journal that this version of ruled reads")
    }
  }

  /// The first sequence of a file, by its name; nil if that says none.
  static func first(inNameOf path: String) -> UInt64? {
    path.split(separator: "/").last.flatMap { UInt64($0.dropLast(JournalFiles.suffix.count), radix: 16) }
  }

  private static func bytes(of file: any StoreFile, at offset: Int, count: Int) throws(StoreError) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: count)
    try file.read(count, at: offset, into: buffer)
    return buffer
  }

  /// The blocks in the index at the end of a file, and the end of the last one; nil without an index.
  private static func index(of file: any StoreFile, size: Int) throws(StoreError) -> ([Block], Int)? {
    guard size >= headerBytes + BlockHeader.byteCount + trailerBytes else { return nil }
    let trailer = try bytes(of: file, at: size - trailerBytes, count: trailerBytes)
    var reader = BlockReader(trailer.bytes)
    guard let word = reader.word(), reader.word() == indexMagic, let offset = Int(exactly: word),
      offset >= headerBytes, offset < size - trailerBytes - BlockHeader.byteCount + 1
    else { return nil }
    let block = try bytes(of: file, at: offset, count: size - trailerBytes - offset)
    guard let header = BlockHeader(block.bytes), header.kind == .index, header.total == block.count,
      BlockHeader.isWhole(block.bytes)
    else { return nil }
    var blocks: [Block] = []
    var remaining = block.bytes.extracting(BlockHeader.byteCount...)
    while remaining.count >= 8 + BlockHeader.byteCount {
      let offset = Int(UInt64(bigEndian: remaining.load(at: 0, as: UInt64.self)))
      remaining = remaining.extracting(8...)
      guard let header = BlockHeader(remaining), remaining.count >= BlockHeader.byteCount + header.filterBytes else {
        return nil
      }
      let end = BlockHeader.byteCount + header.filterBytes
      let filter = SubjectFilter(bits: Array(remaining[BlockHeader.byteCount..<end]))
      blocks.append(Block(offset: offset, header: header, filter: filter))
      remaining = remaining.extracting(end...)
    }
    withExtendedLifetime(block) {}
    return (blocks, offset)
  }

  /// The blocks of a file without an index, and the end of the last one.
  private static func scan(
    _ file: any StoreFile, size: Int, from first: UInt64?, through last: UInt64?
  ) throws(StoreError) -> ([Block], Int) {
    var blocks: [Block] = []
    var offset = headerBytes
    var next = first
    /// Adds the bytes up to `end`, which cover the sequences up to `last`.
    func addDamage(to end: Int, through last: UInt64) {
      guard offset < end, let first = next, first <= last else { return }
      var header = BlockHeader(kind: .gap, first: first, last: last, earliest: .max, latest: .min)
      header.contentBytes = max(0, end - offset - BlockHeader.byteCount)
      blocks.append(Block(offset: offset, header: header, filter: SubjectFilter(bits: []), isDamage: true))
    }
    while let block = try wholeBlock(atOrAfter: offset, of: file, size: size) {
      addDamage(to: block.offset, through: block.header.first - 1)
      blocks.append(block)
      offset = block.end
      next = block.header.last + 1
    }
    guard offset < size else { return (blocks, offset) }
    let isTorn = last == nil ? try Self.isTorn(file, from: offset, size: size) : false
    guard !isTorn, let last = last ?? next else { return (blocks, offset) }
    addDamage(to: size, through: last)
    return (blocks, size)
  }

  /// Whether a write that was cut short may have left the end of a file: a part of a block or of the index, or zeros.
  private static func isTorn(_ file: any StoreFile, from offset: Int, size: Int) throws(StoreError) -> Bool {
    let rest = try bytes(of: file, at: offset, count: size - offset)
    defer { withExtendedLifetime(rest) {} }
    guard rest.count >= BlockHeader.byteCount else { return true }
    guard let header = BlockHeader(rest.bytes) else { return rest.bytes.allSatisfy { $0 == 0 } }
    return header.kind == .index || header.total > rest.count
  }

  /// The whole block at an offset, or the first one behind it; nil if there is none before the index.
  private static func wholeBlock(
    atOrAfter offset: Int, of file: any StoreFile, size: Int
  ) throws(StoreError) -> Block? {
    guard offset + BlockHeader.byteCount <= size else { return nil }
    let head = try bytes(of: file, at: offset, count: BlockHeader.byteCount)
    let count = BlockHeader(head.bytes).map { min($0.total, size - offset) } ?? BlockHeader.byteCount
    withExtendedLifetime(head) {}
    let start = try bytes(of: file, at: offset, count: count)
    defer { withExtendedLifetime(start) {} }
    if let block = Block(wholeAt: 0, of: start.bytes, from: offset) {
      return block.header.kind == .index ? nil : block
    }
    let rest = try bytes(of: file, at: offset, count: size - offset)
    defer { withExtendedLifetime(rest) {} }
    var index = 1
    while let next = BlockHeader.find(in: rest.bytes, from: index) {
      if let block = Block(wholeAt: next, of: rest.bytes, from: offset), block.header.kind != .index { return block }
      index = next + 1
    }
    return nil
  }

  /// Calls `body` with each entry of a block until it returns false; returns whether it never did.
  ///
  /// Throws if the block can't be read.
  func forEach(in block: Block, _ body: (EntryView) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    guard block.header.entries > 0 || block.isDamage else { return true }
    let plain = try contents(of: block)
    defer { withExtendedLifetime(plain) {} }
    var reader = BlockReader(plain.bytes)
    var codec = EntryCodec()
    var whole = WholeEntries()
    let isWhole = block.header.kind == .wholeEntries
    for _ in 0..<block.header.entries {
      guard let view = isWhole ? whole.read(&reader) : codec.read(&reader) else {
        throw StoreError(
          .corrupt, "\(path) is damaged: the block at byte \(block.offset) has an entry that can't be read")
      }
      guard try body(view) else { return false }
    }
    return true
  }

  /// The bytes of a block as they are in the file.
  func bytes(of block: Block) throws(StoreError) -> ByteBuffer {
    try Self.bytes(of: file, at: block.offset, count: block.header.total)
  }

  /// The contents of a block: its entries, or the reason of a gap.
  func contents(of block: Block) throws(StoreError) -> ByteBuffer {
    let header = block.header
    let bytes = try bytes(of: block)
    defer { withExtendedLifetime(bytes) {} }
    guard BlockHeader.isWhole(bytes.bytes) else {
      throw StoreError(
        .corrupt,
        "\(path) is damaged: the block at byte \(block.offset), with the sequences \(header.first) to \(header.last), "
          + "is not what was written")
    }
    let contents = bytes.bytes.extracting((BlockHeader.byteCount + header.filterBytes)...)
    let plain = ByteBuffer(capacity: max(header.plainBytes, contents.count))
    if header.kind.hasEntries {
      try Compressor.decompress(contents, count: header.plainBytes, into: plain)
    } else {
      plain.append(contents)
    }
    return plain
  }
}

extension JournalFile.Block {
  /// The block at an offset in bytes that begin at the offset `start` of the file; nil if it is not whole.
  fileprivate init?(wholeAt offset: Int, of bytes: ByteView, from start: Int) {
    let bytes = bytes.extracting(offset...)
    guard let header = BlockHeader(bytes), header.total <= bytes.count,
      BlockHeader.isWhole(bytes.extracting(first: header.total))
    else { return nil }
    let filter = bytes.extracting(BlockHeader.byteCount..<(BlockHeader.byteCount + header.filterBytes))
    self.init(offset: start + offset, header: header, filter: SubjectFilter(bits: Array(filter)))
  }
}
