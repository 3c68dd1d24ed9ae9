import CZstd
import RuledCore
import RuledStore

/// Compresses with zstd; belongs to one thread at a time.
final class Compressor: @unchecked Sendable {  // confined to its owner
  private let context = ZSTD_createCCtx()
  private let level: Int32

  /// A compressor; higher levels take longer.
  init(level: Int32) { self.level = level }

  deinit { ZSTD_freeCCtx(context) }

  /// Appends `bytes` in compressed form.
  func compress(_ bytes: UnsafeRawBufferPointer, into buffer: ByteBuffer) {
    buffer.append(upTo: ZSTD_compressBound(bytes.count)) { room in
      let count = ZSTD_compressCCtx(context, room.baseAddress, room.count, bytes.baseAddress, bytes.count, level)
      precondition(ZSTD_isError(count) == 0, "zstd has room for what it compresses")
      return count
    }
  }

  /// Appends what was compressed from `count` bytes; throws `corrupt` when that is something else.
  static func decompress(_ bytes: UnsafeRawBufferPointer, count: Int, into buffer: ByteBuffer) throws(StoreError) {
    let done = buffer.append(upTo: count) { room in
      let done = ZSTD_decompress(room.baseAddress, room.count, bytes.baseAddress, bytes.count)
      return ZSTD_isError(done) == 0 ? done : 0
    }
    guard done == count else { throw StoreError(.corrupt, "a block of the journal can't be decompressed") }
  }
}
