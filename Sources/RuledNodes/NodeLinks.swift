import Glibc
import RuledCluster
package import RuledCore
import RuledEngine
import RuledIO
package import RuledLua
import RuledPeers
import RuledThreads
import Synchronization

/// A node's connections with the others: it listens for the tunnels of their clients, and has a link to the owner while it follows.
package final class NodeLinks: Sendable {
  private let name: String
  private let tunnel: Configuration.Tunnel
  private let log: any EventLog
  private let loop: PeerLoop
  private let listener: PeerListener
  private let state: Mutex<State>
  /// The receiver of sockets of other nodes' clients; nil while the node does not own the log.
  private let receiver: Shared<Carrier?>
  private let reports: LinkReports

  private struct State {
    var settings: PeerSettings
    var links: [PeerLink] = []
  }

  /// Takes a socket that speaks for a client of another node; false if it did not.
  typealias Carrier = @Sendable (ClientAccess, Int32) -> Bool

  /// Listens for the other nodes, and refuses their tunnels until `serve`.
  ///
  /// `connections` is the most clients of other nodes.
  init(_ name: String, _ tunnel: Configuration.Tunnel, connections: Int, log: any EventLog) throws(StartError) {
    self.name = name
    self.tunnel = tunnel
    self.log = log
    let receiver = Shared<Carrier?>(nil)
    self.receiver = receiver
    let reports = LinkReports(log)
    self.reports = reports
    do throws(PeerError) {
      let identity = try Self.identity(name, tunnel)
      var settings = PeerSettings(name: name, identity: identity) { reports.note($0) }
      settings.limits.connections = connections + Self.standing
      state = Mutex(State(settings: settings))
      loop = try PeerLoop()
      listener = try PeerListener(on: loop, at: tunnel.listen, settings) { client, socket in
        if let take = receiver.value, take(client, socket) { return nil }
        return "node \(name) does not own the log of commits"
      }
    } catch .identity(let why) {
      throw StartError("cluster: \(why)")
    } catch { throw StartError("cluster.listen '\(tunnel.listen)' can't be listened on: \(error)") }
    if let warning = Self.warning(identity: state.withLock { $0.settings.identity }) {
      log.warn(warning)
    }
  }

  /// The number of refused connections, which did not prove to be a node's.
  var refused: Int { reports.refused.load(ordering: .relaxed) }

  /// The most connections of other nodes that carry no client.
  private static let standing = 256

  /// Reads a node's certificate and key, and the authority, and checks that they fit.
  private static func identity(_ name: String, _ tunnel: Configuration.Tunnel) throws(PeerError) -> PeerIdentity {
    let identity = try PeerIdentity(certificate: tunnel.certificate, key: tunnel.key, authority: tunnel.authority)
    guard identity.isFor(name) else {
      throw .identity(
        "certificate \(tunnel.certificate) is not for node \(name): it needs the alternative name DNS:\(name)")
    }
    return identity
  }

  /// A warning if the certificate has expired; nil otherwise.
  private static func warning(identity: PeerIdentity) -> String? {
    Timestamp(microseconds: identity.expiry * 1_000_000) < EngineClock.wall
      ? "cluster.certificate has expired: the other nodes refuse it, make a new one" : nil
  }

  /// The problems of a node's certificate and of its listener for other nodes; `isDaemons` tells whether the running daemon has a port.
  package static func problems(
    _ name: String, _ tunnel: Configuration.Tunnel, isDaemons: (UInt16) -> Bool
  ) -> [ConfigurationProblem] {
    var problems: [ConfigurationProblem] = []
    do throws(PeerError) {
      let identity = try identity(name, tunnel)
      if let warning = warning(identity: identity) {
        problems.append(ConfigurationProblem(path: ["cluster", "certificate"], message: warning))
      }
      let loop = try PeerLoop()
      defer { loop.stop() }
      let settings = PeerSettings(name: name, identity: identity)
      _ = try PeerListener(on: loop, at: tunnel.listen, settings) { _, _ in "this is a check" }
    } catch .identity(let why) {
      problems.append(ConfigurationProblem(path: ["cluster", "certificate"], message: "cluster: \(why)"))
    } catch .system(let error) where error.number == EADDRINUSE && isDaemons(tunnel.listen.port) {
    } catch {
      problems.append(
        ConfigurationProblem(
          path: ["cluster", "listen"], message: "cluster.listen: \(tunnel.listen) can't be listened on: \(error)"))
    }
    return problems
  }

  /// Reads certificate, key and authority again; further connections use them.
  func reloadIdentity() {
    do throws(PeerError) {
      let identity = try Self.identity(name, tunnel)
      let links = state.withLock { state in
        state.settings.identity = identity
        return state.links
      }
      listener.use(identity)
      for link in links { link.use(identity) }
    } catch { log.error("the old certificate of the node stays in use: \(error)") }
  }

  /// A link to the node `owner`; nil if that node does not listen for others.
  func link(to owner: NodeIdentity) -> PeerLink? {
    guard let address = NodeAddress(owner.listen) else { return nil }
    return state.withLock { state in
      let link = PeerLink(on: loop, to: owner.name, at: address, state.settings)
      state.links = [link]
      return link
    }
  }

  /// Passes the sockets of other nodes' clients to `body` from now on.
  func serve(_ body: @escaping Carrier) { receiver.value = body }

  /// Accepts no further tunnels; open ones stay.
  func stopAccepting() {
    receiver.value = nil
    listener.stopAccepting()
  }

  /// Waits until the replies to other nodes' clients have arrived there, at most a second.
  func awaitTunnels() { listener.awaitTunnels(milliseconds: 1_000) }

  func stop() { loop.stop() }
}

/// Counts and logs events of the connections between nodes; the same problem is logged once.
private final class LinkReports: Sendable {
  private let log: any EventLog
  private let trouble = Mutex<String?>(nil)
  /// The number of refused connections, which did not prove to be a node's.
  let refused = Atomic(0)

  init(_ log: any EventLog) { self.log = log }

  func note(_ note: PeerNote) {
    switch note {
    case .linked(let node):
      trouble.withLock { $0 = nil }
      log.info("node \(node) can be reached: clients of this node are carried there")
    case .broken(let node, let reason, _):
      let isNew = trouble.withLock { trouble in
        defer { trouble = reason }
        return trouble != reason
      }
      if isNew { log.warn("node \(node) can't be reached: \(reason)") }
    case .refused(let address, let reason):
      refused.wrappingAdd(1, ordering: .relaxed)
      log.write(
        LogLine(.warn, "a connection from \(address), which is to be a node, was refused: \(reason)"),
        limitedBy: "a node that is none: \(reason)")
    case .joined, .left: break
    }
  }
}
