import RuledCore
import RuledStore

/// The bytes of a batch of commits in the log: a format byte, then each commit's records after their length in four bytes.
///
/// The store's redo log has the same records (`WriteSet`), so playing a batch back appends its commits there.
final class LogBatch {
  private static let format: UInt8 = 1
  private static let headerBytes = 4

  private let buffer = ByteBuffer(capacity: 4096)
  /// The writes of all commits, for the store of the node that writes the batch: it need not read them from the bytes.
  private(set) var writes = WriteSet(capacity: 4096)
  /// The most bytes of writes whose memory is kept for the next batch.
  private static let mostKeptBytes = 4 << 20

  init() { removeAll() }

  func removeAll() {
    buffer.removeAll()
    buffer.append(Self.format)
    if writes.capacity > Self.mostKeptBytes { writes = WriteSet(capacity: 4096) } else { writes.removeAll() }
  }

  var isEmpty: Bool { buffer.count == 1 }

  /// The bytes; valid until the batch changes.
  var bytes: ByteView { buffer.bytes }

  var byteCount: Int { buffer.count }

  func append(_ writes: WriteSet) {
    buffer.append(bigEndian: UInt32(writes.byteCount))
    buffer.append(writes.records)
    self.writes.append(writes)
  }

  /// Adds the writes of each commit in `bytes` to `writes`, in order, and calls `body` after each commit.
  ///
  /// Throws `newer_format` for a later format than this version knows, and `corrupt` for bytes that are no batch.
  static func forEachCommit(
    in bytes: ByteView, into writes: WriteSet, _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    guard bytes.first == format else {
      throw StoreError(
        .newerFormat, "a node of a later version wrote format \(bytes.first ?? 0) to the log: install that version here"
      )
    }
    var rest = bytes.extracting(droppingFirst: 1)
    while !rest.isEmpty {
      guard rest.count >= headerBytes else { throw damaged }
      let length = Int(UInt32(bigEndian: rest.load(at: 0, as: UInt32.self)))
      guard length <= rest.count - headerBytes else { throw damaged }
      guard writes.append(records: rest.extracting(headerBytes..<(headerBytes + length))) else { throw damaged }
      try body()
      rest = rest.extracting(droppingFirst: headerBytes + length)
    }
  }

  private static let damaged = StoreError(
    .corrupt, "a batch in the log of commits is not what was written: restore the database from a backup")
}
