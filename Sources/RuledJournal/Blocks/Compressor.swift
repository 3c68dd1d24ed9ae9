import CZstd
import RuledCore
import RuledStore

/// Compresses with zstd; belongs to one thread at a time.
final class Compressor: @unchecked Sendable {  // confined to its owner
  private let context = ZSTD_createCCtx()
  private let level: Int32

  init(level: Int32) { self.level = level }

  deinit { ZSTD_freeCCtx(context) }

  func compress(_ bytes: ByteView, into buffer: ByteBuffer) {
    buffer.append(upTo: ZSTD_compressBound(bytes.count)) { span in
      span.withUnsafeMutableBytes { room, count in
        count = ZSTD_compressCCtx(context, room.baseAddress, room.count, bytes.baseAddress, bytes.count, level)
        precondition(ZSTD_isError(count) == 0, "zstd has room for what it compresses")
      }
    }
  }

  /// Decompresses `bytes` and appends the result; throws `corrupt` if that has not `count` bytes.
  static func decompress(_ bytes: ByteView, count: Int, into buffer: ByteBuffer) throws(StoreError) {
    let done = buffer.append(upTo: count) { span in
      span.withUnsafeMutableBytes { room, done in
        let status = ZSTD_decompress(room.baseAddress, room.count, bytes.baseAddress, bytes.count)
        done = ZSTD_isError(status) == 0 ? status : 0
        return done
      }
    }
    guard done == count else { throw StoreError(.corrupt, "a block of the journal can't be decompressed") }
  }
}
