import RuledCore
import RuledStore

final class JournalFileWriter {
  /// The file with all written blocks.
  private(set) var summary: FileSummary
  private var durableEnd: Int
  private let file: any StoreFile
  /// For each block its offset, header and filter.
  private let index = ByteBuffer(capacity: 64 << 10)

  init(creating path: String, _ files: any FileSystem) throws(StoreError) {
    summary = FileSummary(path: path, bytes: JournalFile.headerBytes)
    file = try files.open(path, .create)
    let start = ByteBuffer(capacity: 8)
    start.append(bigEndian: JournalFile.magic)
    defer { withExtendedLifetime(start) {} }
    try file.write(start.bytes, at: 0)
    durableEnd = 0
  }

  /// Continues a file after its last whole block; a torn block that follows is removed.
  init(continuing known: JournalFile, _ files: any FileSystem) throws(StoreError) {
    summary = FileSummary(known)
    file = try files.open(known.path, .update)
    durableEnd = known.end
    if try file.size() > known.end { try file.resize(to: known.end) }
    for block in known.blocks {
      let bytes = ByteBuffer(capacity: 4096)
      let count = BlockHeader.byteCount + block.header.filterBytes
      try file.read(count, at: block.offset, into: bytes)
      note(bytes.bytes, at: block.offset, headerAndFilter: count)
      withExtendedLifetime(bytes) {}
    }
  }

  private func note(_ block: ByteView, at offset: Int, headerAndFilter count: Int) {
    index.append(bigEndian: UInt64(offset))
    index.append(block.extracting(..<count))
  }

  /// Appends a block; `sync` makes it durable.
  func append(_ block: ByteView, _ header: BlockHeader) throws(StoreError) {
    try file.write(block, at: summary.bytes)
    file.beginWriteback(at: summary.bytes, count: block.count)
    note(block, at: summary.bytes, headerAndFilter: BlockHeader.byteCount + header.filterBytes)
    summary.add(header)
  }

  /// The bytes of the file with one more block and its index.
  func bytes(adding header: BlockHeader) -> Int {
    let inIndex = 8 + BlockHeader.byteCount + header.filterBytes
    return summary.bytes + header.total + BlockHeader.byteCount + index.count + inIndex + JournalFile.trailerBytes
  }

  func sync() throws(StoreError) {
    guard durableEnd < summary.bytes else { return }
    try file.sync()
    durableEnd = summary.bytes
  }

  /// Ends the file with its index, durably.
  ///
  /// The blocks are durable before the index is written, so that a block that the index names is never torn.
  func finish() throws(StoreError) {
    try sync()
    let header = BlockHeader(
      kind: .index, first: summary.first, last: summary.last, earliest: summary.earliest, latest: summary.latest)
    let block = ByteBuffer(capacity: index.count + 128)
    header.write(filter: [], contents: index.bytes, into: block)
    block.append(bigEndian: UInt64(summary.bytes))
    block.append(bigEndian: JournalFile.indexMagic)
    defer { withExtendedLifetime(block) {} }
    try file.write(block.bytes, at: summary.bytes)
    summary.bytes += block.count
    try sync()
    summary.isComplete = true
  }

  /// Removes the bytes that are not durable, if possible.
  func discard(in files: any FileSystem) {
    if durableEnd == 0 { try? files.remove(summary.path) } else { try? file.resize(to: durableEnd) }
  }
}
