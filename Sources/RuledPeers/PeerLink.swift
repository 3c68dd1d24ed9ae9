package import RuledCore
package import RuledIO
internal import Synchronization

/// A link to another node: a permanent connection, which shows whether the node can be reached, and tunnels.
///
/// While the link is open, it reconnects the permanent connection after a failure.
package final class PeerLink: Watched, ConnectionOwner, @unchecked Sendable {  // the loop's thread has all but `state`
  package let node: String
  private let address: NodeAddress
  private let loop: PeerLoop
  private let state = Mutex(State())

  private struct State {
    /// Why the permanent connection is down; nil while it is up.
    var problem: String? = "it has not been reached yet"
    var isClosed = false
  }

  private var settings: PeerSettings
  private var loopState: LoopState?
  private var connection: PeerConnection?
  private var isConnecting = false
  private var failures = 0
  private var due: UInt64 = 0
  /// The address of the last attempt, and the address of the last successful one.
  private var attempted: NumericAddress?
  private var reached: NumericAddress?
  private var tunnels: [ObjectIdentifier: Tunnel] = [:]

  /// A link to `node`; it begins to connect.
  package init(on loop: PeerLoop, to node: String, at address: NodeAddress, _ settings: PeerSettings) {
    self.node = node
    self.address = address
    self.loop = loop
    self.settings = settings
    loop.post { [self] loop in
      loop.watch(self)
      loopState = loop
      connect(on: loop)
    }
  }

  /// Why the other node can't be reached, in words; nil while it can; from any thread.
  package var problem: String? { state.withLock { $0.problem } }

  /// Uses another identity for further connections, as after a certificate was renewed.
  package func use(_ identity: PeerIdentity) { loop.post { [self] _ in settings.identity = identity } }

  package func close() {
    loop.post { [self] loop in
      shutDown()
      loop.unwatch(self)
    }
  }

  // MARK: Tunnels

  package enum Outcome: Sendable, Equatable {
    /// It could not be opened: the caller owns the socket again, and nothing was read from it.
    case refused(String)
    /// It ended, for this reason; its socket is closed once all data for it is written.
    case ended(String)
  }

  /// Carries a client's connection to the other node; `bytes` were read from the client's `socket` before.
  ///
  /// `ended` is called once, on the loop's thread, and must not block. Until then the tunnel owns the socket.
  package func open(
    _ socket: Int32, for client: ClientAccess, after bytes: [UInt8] = [], ended: @escaping @Sendable (Outcome) -> Void
  ) {
    let tunnel = Tunnel(socket, client, bytes, ended)
    let isAccepted = loop.post { [self] loop in
      // While the node can't be reached, tunnels are refused at once.
      if failures > 0 || state.withLock({ $0.isClosed }) { return tunnel.refuse(problem ?? "the link is closed") }
      let id = ObjectIdentifier(tunnel)
      tunnels[id] = tunnel
      tunnel.forget = { [weak self] in self?.tunnels[id] = nil }
      if let reached { return tunnel.connect(on: loop, to: node, at: reached, settings) }
      address.resolve(on: loop.events) { [settings, node] addresses, problem in
        guard let first = addresses.first else { return tunnel.refuse("\(PeerError.unknownHost(problem))") }
        tunnel.connect(on: loop, to: node, at: first, settings)
      }
    }
    if !isAccepted { ended(.refused("the thread of the links has stopped")) }
  }

  // MARK: The permanent connection

  private func connect(on loop: LoopState) {
    guard !state.withLock({ $0.isClosed }) else { return }
    isConnecting = true
    address.resolve(on: loop.events) { [self] addresses, problem in
      isConnecting = false
      guard !state.withLock({ $0.isClosed }) else { return }
      do throws(PeerError) {
        guard !addresses.isEmpty else { throw .unknownHost(problem) }
        let next = addresses[failures % addresses.count]
        attempted = next
        connection = try PeerConnection.open(on: loop, settings, to: node, at: next, owner: self)
      } catch { fail("\(error)") }
    }
  }

  private func fail(_ reason: String) {
    guard let loopState, !state.withLock({ $0.isClosed }) else { return }
    failures += 1
    let delay = settings.limits.backoff.delay(after: failures)
    due = loopState.now + delay
    let text = "\(address): \(reason)"
    state.withLock { $0.problem = text }
    settings.note(.broken(node: node, reason: text, retryMilliseconds: delay))
  }

  func check(now: UInt64) {
    guard connection == nil, !isConnecting, now >= due, let loopState else { return }
    connect(on: loopState)
  }

  func shutDown() {
    state.withLock { state in
      state.isClosed = true
      state.problem = "the link is closed"
    }
    connection?.end("node \(settings.name) has closed the link", tells: true)
    for tunnel in tunnels.values { tunnel.end("node \(settings.name) has closed the link") }
    loopState = nil
  }

  func ready(_ connection: PeerConnection, peer: String) {
    failures = 0
    reached = attempted
    state.withLock { $0.problem = nil }
    settings.note(.linked(node: node))
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool { false }

  func ended(_ connection: PeerConnection, reason: String) {
    self.connection = nil
    fail(reason)
  }
}

/// The client's side of a tunnel; confined to the loop.
final class Tunnel: ConnectionOwner, @unchecked Sendable {  // confined to the loop's thread
  private let socket: Int32
  private let client: ClientAccess
  private let first: [UInt8]
  private let outcome: @Sendable (PeerLink.Outcome) -> Void
  private var connection: PeerConnection?
  private var loop: LoopState?
  private var limits = PeerLimits()
  private var end: TunnelEnd?
  private var isOver = false
  /// Removes the tunnel from its link.
  var forget: () -> Void = {}

  init(
    _ socket: Int32, _ client: ClientAccess, _ first: [UInt8],
    _ outcome: @escaping @Sendable (PeerLink.Outcome) -> Void
  ) {
    self.socket = socket
    self.client = client
    self.first = first
    self.outcome = outcome
  }

  func connect(on loop: LoopState, to node: String, at address: NumericAddress, _ settings: PeerSettings) {
    guard !isOver else { return }
    self.loop = loop
    limits = settings.limits
    do throws(PeerError) {
      connection = try PeerConnection.open(on: loop, settings, to: node, at: address, owner: self)
    } catch { refuse("\(error)") }
  }

  /// Returns the socket to the caller.
  func refuse(_ reason: String) {
    guard !isOver else { return }
    isOver = true
    forget()
    outcome(.refused(reason))
  }

  func end(_ reason: String) {
    if let connection { connection.end(reason, tells: true) } else { refuse(reason) }
  }

  func ready(_ connection: PeerConnection, peer: String) {
    guard let loop else { return }
    do throws(SystemError) {
      let end = try TunnelEnd(on: loop, socket, .client, connection, limits) {}
      self.end = end
      connection.send { PeerFrame.writeOpen(client, into: $0) }
      first.withView { end.begin(after: $0) }
    } catch { connection.end("\(PeerError.system(error))", tells: true) }
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool { end?.receive(frame) ?? false }

  func ended(_ connection: PeerConnection, reason: String) {
    self.connection = nil
    guard let end else { return refuse(reason) }
    guard !isOver else { return }
    isOver = true
    forget()
    outcome(.ended(reason))
    end.connectionEnded()
  }
}
