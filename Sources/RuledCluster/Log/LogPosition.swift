import RuledCore

/// A position in a log of commits, and a digest of all that comes before it.
package struct LogPosition: Sendable, Equatable {
  /// The number of batches before it, which is the sequence of the last of them.
  package let sequence: Int64
  /// The digest of the last batch, chained with those of all batches before it; empty at the start.
  let digest: [UInt8]

  init(sequence: Int64, digest: [UInt8]) {
    self.sequence = sequence
    self.digest = digest
  }

  /// The position before the first batch.
  static let start = LogPosition(sequence: 0, digest: [])

  /// The position after a batch that is appended here in `epoch`.
  func following(_ batch: ByteView, epoch: Int64) -> LogPosition {
    var hash = SHA256()
    digest.withView { hash.update($0) }
    let numbers = ByteBuffer(capacity: 16)
    numbers.append(bigEndian: UInt64(bitPattern: sequence + 1))
    numbers.append(bigEndian: UInt64(bitPattern: epoch))
    hash.update(numbers.bytes)
    withExtendedLifetime(numbers) {}
    hash.update(batch)
    return LogPosition(sequence: sequence + 1, digest: hash.finish().bytes)
  }
}
