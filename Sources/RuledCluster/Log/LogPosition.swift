import RuledCore

/// A place in a log of commits: what comes up to there.
package struct LogPosition: Sendable, Equatable {
  /// How many batches there are up to it.
  package let sequence: Int64
  /// The digest of the last of them, in which those of all before are; empty before the first.
  package let digest: [UInt8]

  /// A place.
  package init(sequence: Int64, digest: [UInt8]) {
    self.sequence = sequence
    self.digest = digest
  }

  /// Before the first batch.
  package static let start = LogPosition(sequence: 0, digest: [])

  /// The place behind a batch that follows this one, written in `epoch`.
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
  /// Its configured name.
  package let name: String
  /// What tells its process from every other one, also of the same name.
  package let incarnation: String
  /// Where its clients reach it, for people to read.
  package let address: String
  /// Where it listens for other nodes, as they reach it; empty if it does not.
  package let listen: String

  /// A node's process.
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

/// Where a log stands, as the database says.
package struct LogHead: Sendable, Equatable {
  /// Rises with each owner.
  package let epoch: Int64
  /// Its end.
  package let position: LogPosition
  /// Who may write; nil before the first owner.
  package let owner: NodeIdentity?
  /// Whether the owner's lease is over, by the database's clock.
  package let isLeaseOver: Bool
}
