import RuledCore

/// The common settings of a node's listener and its link.
package struct PeerSettings: Sendable {
  /// The node's name, which is one of the alternative names in its certificate.
  var name: String
  package var identity: PeerIdentity
  package var limits: PeerLimits
  /// Called when connections are made, end or are refused, on the loop's thread.
  var note: @Sendable (PeerNote) -> Void

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

package struct PeerLimits: Sendable {
  /// How long a connection may take until both sides have sent `hello`, in milliseconds.
  var connectMilliseconds: UInt64 = 5_000
  /// How often the side that connected sends `ping`, in milliseconds.
  var keepAliveMilliseconds: UInt64 = 1_000
  /// How long a peer may be silent before it counts as dead, in milliseconds.
  var silenceMilliseconds: UInt64 = 5_000
  /// How long a client may take to close its side after the other side was closed, in milliseconds.
  var lingerMilliseconds: UInt64 = 2_000
  /// How long the last bytes of a tunnel may take to the other node, and a client to read them, in milliseconds.
  var stallMilliseconds: UInt64 = 60_000
  package var connections = 4_096
  /// How long a link waits before it connects again.
  var backoff = Backoff(first: 100, longest: 2_000)
}

/// An event of a link or a listener.
package enum PeerNote: Sendable, Equatable {
  /// The link to this node is up.
  case linked(node: String)
  /// The link to this node broke or could not be made; the next attempt is after `retryMilliseconds`.
  case broken(node: String, reason: String, retryMilliseconds: UInt64)
  /// A node has connected to the listener.
  case joined(node: String)
  case left(node: String, reason: String)
  /// Something connected that did not prove to be a node.
  case refused(address: String, reason: String)
}
