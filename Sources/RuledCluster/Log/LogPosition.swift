import RuledCore

/// A position in a log of commits, and a digest of all batches before it.
package struct LogPosition: Sendable, Equatable {
  /// The number of batches before it, which is the sequence of the last of them.
  package let sequence: Int64
  /// The digest of the last batch, chained with the digests of all batches before it; empty at the start.
  let digest: [UInt8]

  static let start = LogPosition(sequence: 0, digest: [])

  /// The position after a batch appended here in `epoch`.
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

/// The end of a log and its owner, as the database has them.
struct LogHead: Sendable, Equatable {
  /// The epoch, which rises with each change of owner.
  let epoch: Int64
  /// The end of the log.
  let position: LogPosition
  /// The node that may write; nil before the first owner.
  let owner: NodeIdentity?
  /// Whether the owner's lease is over, by the database's clock.
  let isLeaseOver: Bool
  /// The last batch that the standbys are known to have: the log's owner commits nothing on top of unconfirmed batches, and its lease
  /// says how far they were confirmed.
  let confirmed: Int64
  /// Whether the owner has released its lease, or its process has made way for another one of its name.
  let isLeaseReleased: Bool
}
