import RuledCore

/// A position in a log of commits, and a digest of all that comes before it.
package struct LogPosition: Sendable, Equatable {
  /// The number of batches before it, which is the sequence of the last of them.
  package let sequence: Int64
  /// The digest of the last batch, chained with those of all batches before it; empty at the start.
  package let digest: [UInt8]

  package init(sequence: Int64, digest: [UInt8]) {
    self.sequence = sequence
    self.digest = digest
  }

  /// The position before the first batch.
  package static let start = LogPosition(sequence: 0, digest: [])

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

/// A node as the others know it.
package struct NodeIdentity: Sendable, Equatable {
  package let name: String
  /// A unique id of its process: another process of the same name has another one.
  package let incarnation: String
  /// Where its clients reach it, for people to read.
  package let address: String
  /// Where other nodes reach it; empty if it does not listen for them.
  package let listen: String

  package init(name: String, incarnation: String, address: String, listen: String = "") {
    self.name = name
    self.incarnation = incarnation
    self.address = address
    self.listen = listen
  }

  /// A process that begins now.
  package init(name: String, address: String, listen: String = "") {
    var random = SystemRandomNumberGenerator()
    let incarnation = UUIDText.random(random.next(), random.next()).text
    self.init(name: name, incarnation: incarnation, address: address, listen: listen)
  }
}

/// The end of a log and its owner, as the database has them.
package struct LogHead: Sendable, Equatable {
  /// The epoch, which rises with each change of owner.
  package let epoch: Int64
  /// The end of the log.
  package let position: LogPosition
  /// Who may write; nil before the first owner.
  package let owner: NodeIdentity?
  /// Whether the owner's lease is over, by the database's clock.
  package let isLeaseOver: Bool
  /// Up to which batch the standbys are known to have the log: its owner commits nothing on top of what they have not confirmed, and says in its
  /// lease how far that was.
  let confirmed: Int64
  /// Whether the owner has released its lease, or its process has made way for another one of its name.
  package let isLeaseReleased: Bool
}
