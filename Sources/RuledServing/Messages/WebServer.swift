import RuledCore
import RuledIO

/// The server for clients that speak HTTP, as the other threads see it.
protocol WebServer: AnyObject, Sendable {
  /// Takes over a connection that has no place yet; beyond the limit only probes are answered.
  func accept(_ descriptor: Int32, from origin: HTTPOrigin)

  /// Takes over a client's connection; one without a place is beyond the limit, and only probes are answered there.
  func adopt(_ descriptor: Int32, at place: ConnectionPlace?)

  func receive(_ reply: ByteView, for target: ReplyTarget)

  /// Whether a client still waits for the response to a request.
  func isAwaited(_ token: UInt64) -> Bool
}

package enum HTTPOrigin: Sendable {
  /// From the client itself; over the listener for sites if it `isVisitor`.
  case client(isVisitor: Bool = false)
  /// From another node, at whose Unix socket the client connected.
  case node(String, isAdmin: Bool)
  /// From another node, at one of whose loopback listeners the client connected: that for sites if it `isVisitor`.
  case nodeWithoutCredentials(String, isVisitor: Bool)

  /// Whether the client connected at a listener for sites.
  var isVisitor: Bool {
    switch self {
    case .client(let isVisitor), .nodeWithoutCredentials(_, let isVisitor): isVisitor
    case .node: false
    }
  }

  /// Whether the client is an administrator, who may take a reserved place.
  var isAdmin: Bool { if case .node(_, let isAdmin) = self { isAdmin } else { false } }

  var owner: ConnectionPlaces.Owner {
    switch self {
    case .client: .network
    case .node(let node, _), .nodeWithoutCredentials(let node, _): .node(node)
    }
  }
}
