import Glibc
import RuledCluster
import RuledCore
import RuledPeers
import Synchronization

/// The way from a node that follows to the owner of the log, whoever that is; confined to the standby server's loop.
final class OwnerRoute {
  private let node: ClusterNode
  private let links: NodeLinks
  private var link: PeerLink?
  private var owner: NodeIdentity?

  /// A way from a node to its owner.
  init(_ node: ClusterNode, _ links: NodeLinks) {
    self.node = node
    self.links = links
  }

  /// Leads to another node once that owns the log; the tunnels to the former owner end.
  func refresh() {
    let known = node.figures.owner
    guard known != owner else { return }
    owner = known
    link?.close()
    link = nil
    guard let known, known.name != node.identity.name else { return }
    link = links.link(to: known)
  }

  /// Whether there is a node to ask.
  var hasLink: Bool { link != nil }

  /// Why the owner can't be reached, in words; nil while it can.
  var problem: String? {
    guard let link else {
      guard let owner, owner.name != node.identity.name else { return "it is not known who owns the log of commits" }
      return
        "node \(owner.name), which owns the log of commits, does not say where it listens for other nodes: set cluster.listen there"
    }
    return link.problem.map { "node \(link.node), which owns the log of commits, can't be reached: \($0)" }
  }

  /// Carries the connection of a client to the owner, which `hasLink`; `bytes` were read from the socket before.
  func open(
    _ socket: Int32, for client: PeerClient, after bytes: [UInt8] = [],
    ended: @escaping @Sendable (PeerLink.Outcome) -> Void
  ) {
    guard let link else { return ended(.refused(problem ?? "")) }
    link.open(socket, for: client, after: bytes, ended: ended)
  }

  /// The error for a request that did not get to the owner.
  static func unreachable(_ reason: String) -> RequestError {
    RequestError(
      .unavailable, "the owner of the log of commits can't be reached: \(reason); nothing was sent to it, try again",
      details: [.init("retry_after_ms", 1000)])
  }

  /// Ends the way with its tunnels.
  func close() { link?.close() }
}

/// What became of a tunnel, from the thread of the tunnels to the loop of the standby server.
final class TunnelOutcome: Sendable {
  private let state = Mutex<PeerLink.Outcome?>(nil)

  /// What became of it; nil while it goes on.
  var value: PeerLink.Outcome? { state.withLock { $0 } }

  /// Notes what became of it.
  func set(_ outcome: PeerLink.Outcome) { state.withLock { $0 = outcome } }
}
