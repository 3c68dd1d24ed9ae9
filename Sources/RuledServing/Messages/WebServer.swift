import RuledCore
import RuledIO

/// The server for clients that speak HTTP, as the other threads see it.
protocol WebServer: AnyObject, Sendable {
  /// Takes over a connection that has no place yet; beyond the limit only probes are answered.
  func accept(_ descriptor: Int32, from peer: HTTPPeer)

  /// Takes over a connection from the Unix socket; one without a place is beyond the limit, and only probes are answered there.
  func adopt(_ descriptor: Int32, at place: ConnectionPlace?)

  func receive(_ reply: ByteView, for target: ReplyTarget)

  /// Whether a client still waits for the response to a request.
  func isAwaited(_ token: UInt64) -> Bool
}

/// The client of an HTTP connection.
package struct HTTPPeer: Sendable {
  /// Whether the kernel's credentials say nothing about the client, so that a token or a session decides: it came over a TCP listener, or through a proxy.
  let isAnonymous: Bool
  /// Whether the connection came over a listener for sites, which serves the plugins' sites alone.
  let isVisitor: Bool
  /// Whether the kernel's credentials of the peer are an administrator's, who may take a reserved place.
  let isAdmin: Bool
  /// The node that has carried the connection here; nil if the client connected here.
  let node: String?

  package init(isAnonymous: Bool = false, isVisitor: Bool = false, isAdmin: Bool = false, node: String? = nil) {
    self.isAnonymous = isAnonymous
    self.isVisitor = isVisitor
    self.isAdmin = isAdmin
    self.node = node
  }

  /// Whether it may call `state`; each role that may send events may do so, too.
  var mayReadStates: Bool { isAdmin || isAnonymous }

  /// The peer behind this proxy; it does not have the proxy's credentials.
  var behindProxy: HTTPPeer { HTTPPeer(isAnonymous: true, node: node) }
}
