package import RuledCore

/// What a node's listener and all its links have in common.
package struct PeerSettings: Sendable {
  /// The node's name, which its certificate has among its alternative names.
  package var name: String
  /// What the node shows to others.
  package var identity: PeerIdentity
  /// How much and how long.
  package var limits: PeerLimits
  /// Is told of connections that come and go, on the loop's thread.
  package var note: @Sendable (PeerNote) -> Void

  /// Settings of a node.
  package init(
    name: String, identity: PeerIdentity, limits: PeerLimits = PeerLimits(),
    note: @escaping @Sendable (PeerNote) -> Void = { _ in }
  ) {
    self.name = name
    self.identity = identity
    self.limits = limits
    self.note = note
  }
}

/// How much and how long.
package struct PeerLimits: Sendable {
  /// How many milliseconds a connection may take until both sides have said who they are.
  package var connectMilliseconds: UInt64 = 5_000
  /// How many milliseconds apart a link asks its peer for a sign of life.
  package var keepAliveMilliseconds: UInt64 = 1_000
  /// After how many milliseconds without a byte a peer is dead.
  package var silenceMilliseconds: UInt64 = 5_000
  /// How many bytes of requests a link has on the way, and how many of one link a listener takes; more are `overloaded`.
  package var unansweredBytes = 64 << 20
  /// The same for the number of requests.
  package var unansweredRequests = 65_536
  /// How many bytes of answers wait for a peer that is slow to read them, before nothing more is read from it.
  package var unsentBytes = 64 << 20
  /// The longest frame in bytes; more than `unansweredBytes`, and more than any answer.
  package var frameBytes = 128 << 20
  /// How many connections a listener has at most.
  package var connections = 256
  /// How long a link waits before it connects again.
  package var backoff = Backoff(first: 100, longest: 5_000)

  /// The usual limits.
  package init() {}
}

/// What happened to a connection.
package enum PeerNote: Sendable, Equatable {
  /// The link to this node stands.
  case linked(node: String)
  /// The link to this node broke, or can't be made; it is tried again after so many milliseconds.
  case broken(node: String, reason: String, retryMilliseconds: UInt64)
  /// A node has connected to the listener.
  case joined(node: String)
  /// Its connection ended.
  case left(node: String, reason: String)
  /// Somebody has connected who did not prove to be a node.
  case refused(address: String, reason: String)
}
