package import RuledCore
package import RuledIO
internal import RuledThreads

package final class PeerListener: @unchecked Sendable {  // all but constants belong to the loop's thread
  /// Called on the loop's thread with the client of a new tunnel, and a socket that carries its bytes.
  ///
  /// It must not block. It takes the socket over and returns nil, or returns why it refuses the client.
  package typealias Receiver = @Sendable (_ client: ClientAccess, _ socket: Int32) -> String?

  /// The port that the listener is bound to.
  let port: UInt16
  private let loop: PeerLoop
  private let acceptor: Acceptor

  /// Listens at an address until `close`.
  ///
  /// - Throws: `.unknownHost`, or `.system` when it can't be listened on.
  package init(
    on loop: PeerLoop, at address: NodeAddress, _ settings: PeerSettings, receive: @escaping Receiver
  ) throws(PeerError) {
    let acceptor = Acceptor(settings, receive)
    let result = OneResult<Result<UInt16, PeerError>>()
    let isRunning = loop.post { state in
      address.resolve(on: state.events) { addresses, problem in
        result.give(acceptor.listen(on: state, at: addresses.first, problem))
      }
    }
    guard isRunning else { throw .stopped }
    port = try result.wait().get()
    self.loop = loop
    self.acceptor = acceptor
  }

  /// Uses another identity for further connections, as after a certificate was renewed.
  package func use(_ identity: PeerIdentity) { loop.post { [acceptor] _ in acceptor.settings.identity = identity } }

  /// Accepts no more connections; open tunnels stay.
  package func stopAccepting() { loop.post { [acceptor] _ in acceptor.stopAccepting() } }

  package func awaitTunnels(milliseconds: Int) {
    acceptor.idle.wait(milliseconds: milliseconds) { acceptor.tunnels == 0 ? () : nil }
  }

  func close() {
    loop.post { [acceptor] loop in
      acceptor.shutDown()
      loop.unwatch(acceptor)
    }
  }
}

/// The part of a listener that runs on the loop.
private final class Acceptor: Watched, ConnectionOwner, @unchecked Sendable {  // confined to the loop's thread
  var settings: PeerSettings
  private let receiver: PeerListener.Receiver
  private var listener: Listener?
  private var loop: LoopState?
  private var callers: [ObjectIdentifier: Caller] = [:]
  /// Guards `tunnels`, and is signalled when it changes.
  let idle = Condition()
  /// The number of tunnels with an open socket or an open connection.
  private(set) var tunnels = 0

  private struct Caller {
    let connection: PeerConnection
    let address: String
    var node: String?
    var tunnel: TunnelEnd?
  }

  init(_ settings: PeerSettings, _ receiver: @escaping PeerListener.Receiver) {
    self.settings = settings
    self.receiver = receiver
  }

  func listen(on state: LoopState, at address: NumericAddress?, _ problem: String) -> Result<UInt16, PeerError> {
    guard let address else { return .failure(.unknownHost(problem)) }
    do throws(SystemError) {
      let socket = try ListeningSocket(inheriting: try address.listen().release())
      let port = NumericAddress(of: socket.descriptor)?.port ?? 0
      listener = try Listener(on: state.events, socket) { [weak self] in self?.accept($0, on: state) }
      loop = state
      state.watch(self)
      return .success(port)
    } catch { return .failure(.system(error)) }
  }

  private func accept(_ descriptor: Int32, on state: LoopState) {
    guard let stream = try? StreamSocket(on: state.events, descriptor) else { return SystemCalls.close(descriptor) }
    SystemCalls.sendAtOnce(descriptor)
    let address = stream.peer?.description ?? "an unknown address"
    guard callers.count < settings.limits.connections else {
      settings.note(.refused(address: address, reason: "\(callers.count) connections are open, no more may be"))
      return stream.close()
    }
    guard let connection = try? PeerConnection(on: state, stream, settings, to: nil, owner: self) else {
      return stream.close()
    }
    callers[ObjectIdentifier(connection)] = Caller(connection: connection, address: address)
    connection.begin()
  }

  func check(now: UInt64) {}

  func stopAccepting() {
    listener?.stop()
    listener = nil
  }

  func shutDown() {
    stopAccepting()
    for caller in callers.values { caller.connection.end("node \(settings.name) stops listening", tells: true) }
  }

  func ready(_ connection: PeerConnection, peer: String) {
    callers[ObjectIdentifier(connection)]?.node = peer
    settings.note(.joined(node: peer))
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool {
    guard let caller = callers[ObjectIdentifier(connection)], let node = caller.node else { return false }
    if let tunnel = caller.tunnel { return tunnel.receive(frame) }
    guard case .open(let client) = frame else { return false }
    if var client {
      client.node = node
      open(client, connection)
    } else {
      connection.end("node \(settings.name) has no use for a connection of this kind", tells: true)
    }
    return true
  }

  /// Makes the connection a tunnel for a client; the receiver gets the socket at its other end.
  private func open(_ client: ClientAccess, _ connection: PeerConnection) {
    guard let loop else { return }
    let pair: (near: Int32, far: Int32)
    do throws(SystemError) { pair = try SystemCalls.socketPair("tunnel") } catch {
      return connection.end(
        "node \(settings.name) has no socket for a tunnel: \(SystemError.text(of: error.number))", tells: true)
    }
    if let refusal = receiver(client, pair.far) {
      SystemCalls.close(pair.near)
      SystemCalls.close(pair.far)
      return connection.end(refusal, tells: true)
    }
    do throws(SystemError) {
      let tunnel = try TunnelEnd(on: loop, pair.near, .daemon, connection, settings.limits) { [self] in
        idle.signal { tunnels -= 1 }
      }
      idle.locked { tunnels += 1 }
      callers[ObjectIdentifier(connection)]?.tunnel = tunnel
      tunnel.begin()
    } catch {
      SystemCalls.close(pair.near)
      connection.end("node \(settings.name) has no tunnel: \(error)", tells: true)
    }
  }

  func ended(_ connection: PeerConnection, reason: String) {
    guard let caller = callers.removeValue(forKey: ObjectIdentifier(connection)) else { return }
    caller.tunnel?.connectionEnded()
    if let node = caller.node {
      settings.note(.left(node: node, reason: reason))
    } else {
      settings.note(.refused(address: caller.address, reason: reason))
    }
  }
}
