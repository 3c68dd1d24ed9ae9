/// A client with a connection that is carried to another node, as described by the node where it connected.
package struct CarriedClient: Sendable, Equatable {
  /// The listener where a client connected.
  package enum Listener: UInt8, Sendable {
    /// The Unix socket, speaking JSON-RPC lines.
    case lines
    /// The Unix socket, speaking HTTP.
    case web
    /// The loopback listener for HTTP, where a token decides on the client's rights.
    case api
    /// The loopback listener for the plugins' sites.
    case sites
  }

  package let listener: Listener
  package let isAdmin: Bool
  /// Whether it may lease effects without being an administrator.
  package let isCourier: Bool
  /// The node that has carried it here; empty where the client has connected.
  package var node = ""

  package init(_ listener: Listener, isAdmin: Bool = false, isCourier: Bool = false) {
    self.listener = listener
    self.isAdmin = isAdmin
    self.isCourier = isCourier
  }
}
