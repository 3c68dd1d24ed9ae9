/// Where a client has connected, and its rights: as the kernel knows them, or as another node describes them.
package struct ClientAccess: Sendable, Equatable {
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
  /// Whether it is an administrator by the kernel's credentials, which only clients of the Unix socket have.
  package let isAdmin: Bool
  /// Whether it may lease effects without being an administrator.
  package let isCourier: Bool
  /// The node that has carried it here; empty where the client has connected.
  package var node: String

  package init(_ listener: Listener, isAdmin: Bool = false, isCourier: Bool = false, node: String = "") {
    self.listener = listener
    self.isAdmin = isAdmin && (listener == .lines || listener == .web)
    self.isCourier = isCourier
    self.node = node
  }
}
