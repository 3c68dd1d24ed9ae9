import Glibc

/// RocksDB's log files, as far as taking back a failed commit needs them.
///
/// When a commit fails at its fsync, the log may hold all of it, and the next opening would bring it back although its
/// sender was told that nothing happened. So the log is cut before the database is opened again. A log is a run of blocks
/// of 32 KiB; in them lie fragments, each with a header: checksum (4 bytes), length (2, little endian), kind (1), and for
/// the kinds from 5 on the number of the log (4). The first fragment of a batch begins with the batch's sequence number.
enum WriteAheadLog {
  private static let blockSize = 32 << 10

  /// Cuts off every batch whose sequence number is above `sequence`; the database must be closed.
  static func cut(after sequence: UInt64, folder: String) throws(StoreError) {
    let logs = try Folder.names(folder).filter { name in
      name.hasSuffix(".log") && name.count > 4 && name.dropLast(4).allSatisfy { $0.isASCII && $0.isNumber }
    }
    for log in logs { try cut(after: sequence, file: "\(folder)/\(log)") }
  }

  private static func cut(after sequence: UInt64, file: String) throws(StoreError) {
    let descriptor = open(file, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system("the log \(file) can't be opened", errno) }
    defer { close(descriptor) }
    guard let length = try firstBatch(above: sequence, descriptor, file) else { return }
    guard ftruncate(descriptor, off_t(length)) == 0, fsync(descriptor) == 0 else {
      throw StoreError.system("the failed commit can't be cut off the log \(file)", errno)
    }
  }

  /// Where the first batch above `sequence` begins; nil when there is none.
  private static func firstBatch(
    above sequence: UInt64, _ descriptor: Int32, _ file: String
  ) throws(StoreError) -> Int? {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 8)
    defer { block.deallocate() }
    var batch = BatchHead()
    var blockStart = 0
    while true {
      let length = pread(descriptor, block.baseAddress, blockSize, off_t(blockStart))
      guard length >= 0 else { throw StoreError.system("the log \(file) can't be read", errno) }
      var fragments = LogFragments(UnsafeRawBufferPointer(rebasing: block[..<length]))
      while let fragment = fragments.next() {
        if fragment.beginsBatch { batch = BatchHead(start: blockStart + fragment.offset) }
        if let found = batch.append(fragment.payload), found > sequence { return batch.start }
      }
      if length < blockSize { return nil }
      blockStart += blockSize
    }
  }

  /// The beginning of a batch, which may be spread over two fragments.
  private struct BatchHead {
    var start = 0
    private var read = 0
    private var sequence: UInt64 = 0

    init(start: Int = 0) { self.start = start }

    /// Takes the next bytes of the batch; gives its sequence number when these complete it.
    mutating func append(_ payload: UnsafeRawBufferPointer) -> UInt64? {
      guard read < 8 else { return nil }
      for byte in payload.prefix(8 - read) {
        sequence |= UInt64(byte) << UInt64(8 * read)
        read += 1
      }
      return read == 8 ? sequence : nil
    }
  }
}
