import RuledCluster
import RuledCore
import RuledIO
import RuledPeers

/// The route from a follower to the owner of the log, whichever node that is; confined to the standby server's loop.
final class OwnerRoute {
  private let node: ClusterNode
  private let links: NodeLinks
  private var link: PeerLink?
  private var owner: NodeIdentity?

  init(_ node: ClusterNode, _ links: NodeLinks) {
    self.node = node
    self.links = links
  }

  /// Switches to the new owner if the owner has changed; the tunnels to the former owner end.
  func refresh() {
    let current = node.figures.owner
    guard current != owner else { return }
    owner = current
    link?.close()
    link = nil
    guard let current, current.name != node.identity.name else { return }
    link = links.link(to: current)
  }

  var hasLink: Bool { link != nil }

  /// Why the owner can't be reached; nil while it can.
  var problem: String? {
    guard let link else {
      guard let owner, owner.name != node.identity.name else { return "no node is known that owns the log of commits" }
      return
        "node \(owner.name), which owns the log of commits, does not say where it listens for other nodes: set cluster.listen there"
    }
    return link.problem.map { "node \(link.node), which owns the log of commits, can't be reached: \($0)" }
  }

  /// Carries a client's connection to the owner; `bytes` were read from the socket before.
  func open(
    _ socket: Int32, for client: ClientAccess, after bytes: [UInt8] = [],
    ended: @escaping @Sendable (PeerLink.Outcome) -> Void
  ) {
    guard let link else { return ended(.refused(problem ?? "")) }
    link.open(socket, for: client, after: bytes, ended: ended)
  }

  /// The error for a request that could not be sent to the owner.
  static func unreachable(_ reason: String) -> RequestError {
    RequestError(
      .unavailable, "the owner of the log of commits can't be reached: \(reason); nothing was sent to it, try again",
      retryAfter: 1000)
  }

  func close() { link?.close() }
}
