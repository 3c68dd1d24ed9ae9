import RuledCore
import RuledIO

/// The server for clients that speak HTTP, as the other threads see it.
protocol WebServer: AnyObject, Sendable {
  /// Takes over a connection that has no permit yet; beyond the limit only probes are answered.
  func accept(_ descriptor: Int32, from peer: ClientAccess)

  /// Takes over a connection from the Unix socket; one without a permit is beyond the limit, and only probes are answered there.
  func adopt(_ descriptor: Int32, with permit: ConnectionPermit?)

  func takeReply(_ reply: ByteView, for target: ReplyTarget)

  /// Ends the streams of clients whose token or session has ended.
  func checkStreams()

  /// Whether a client still waits for the response to a request.
  func isAwaited(_ token: UInt64) -> Bool
}

extension ClientAccess {
  /// Whether the kernel's credentials say nothing about the client, so that a token or a session decides: it came over a TCP listener, or through a proxy.
  var isAnonymous: Bool { listener == .api || isVisitor }

  /// Whether the connection came over a listener for sites, which serves the plugins' sites alone.
  var isVisitor: Bool { listener == .sites }

  /// Whether it may call `state`; each role that may send events may do so, too.
  var mayReadStates: Bool { isAdmin || isAnonymous }

  /// The client behind this proxy, which does not have the proxy's credentials.
  var behindProxy: ClientAccess { ClientAccess(.api, node: node) }
}
