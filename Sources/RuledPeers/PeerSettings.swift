package import RuledCore

/// What a node's listener and its link have in common.
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
  /// How many milliseconds apart the side that has connected asks its peer for a sign of life.
  package var keepAliveMilliseconds: UInt64 = 1_000
  /// After how many milliseconds without a byte a peer is dead.
  package var silenceMilliseconds: UInt64 = 5_000
  /// How many milliseconds a client may take to end its side of a connection that has ended for it.
  package var lingerMilliseconds: UInt64 = 2_000
  /// How many milliseconds a client may take to read what came for it before its tunnel ended.
  package var stallMilliseconds: UInt64 = 60_000
  /// How many connections a listener has at most.
  package var connections = 4_096
  /// How long a link waits before it connects again.
  package var backoff = Backoff(first: 100, longest: 2_000)

  /// The usual limits.
  package init() {}
}

/// A client whose connection one node carries to another, as the node where it connected states it.
package struct PeerClient: Sendable, Equatable {
  /// Where a client connected.
  package enum Listener: UInt8, Sendable {
    /// The Unix socket, speaking JSON-RPC lines.
    case lines
    /// The Unix socket, speaking HTTP.
    case web
    /// The loopback listener for HTTP, where a token decides what it may do.
    case api
    /// The loopback listener for the plugins' sites.
    case sites
  }

  /// Where it connected.
  package let listener: Listener
  /// Whether it may administer.
  package let isAdmin: Bool
  /// Whether it may lease effects though it may not administer.
  package let isCourier: Bool

  /// A client.
  package init(_ listener: Listener, isAdmin: Bool = false, isCourier: Bool = false) {
    self.listener = listener
    self.isAdmin = isAdmin
    self.isCourier = isCourier
  }
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
