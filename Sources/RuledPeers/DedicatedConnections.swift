internal import RuledCore

/// A connection that a link makes for one purpose; confined to the loop.
protocol DedicatedConnection: ConnectionOwner, Sendable {
  /// Removes it from its link.
  var forget: () -> Void { get set }
  /// Begins to connect.
  func connect(on loop: LoopState, to node: String, at address: NumericAddress, _ settings: PeerSettings)
  /// Ends it before it has a connection.
  func refuse(_ reason: String)
  /// Ends it.
  func end(_ reason: String)
}

/// The client's side of a tunnel; confined to the loop.
final class Tunnel: DedicatedConnection, @unchecked Sendable {  // confined to the loop's thread
  private let socket: Int32
  private let client: PeerClient
  private let first: [UInt8]
  private let outcome: @Sendable (PeerLink.Outcome) -> Void
  private var connection: PeerConnection?
  private var loop: LoopState?
  private var limits = PeerLimits()
  private var end: TunnelEnd?
  private var isOver = false
  var forget: () -> Void = {}

  init(
    _ socket: Int32, _ client: PeerClient, _ first: [UInt8], _ outcome: @escaping @Sendable (PeerLink.Outcome) -> Void
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
      try PeerConnection.open(on: loop, settings, to: node, at: address, owner: self) { connection = $0 }
    } catch {
      if let connection { connection.end("\(error)") } else { refuse("\(error)") }
    }
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
    do throws(PeerError) {
      let end = try TunnelEnd(on: loop, socket, .client, connection, limits) {}
      self.end = end
      connection.send { PeerFrame.writeOpen(client, into: $0) }
      first.withView { end.begin(after: $0) }
    } catch { connection.end("\(error)", tells: true) }
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

/// A connection that is handed over to another thread once the other node has agreed; confined to the loop.
final class HandOver: DedicatedConnection, @unchecked Sendable {  // confined to the loop's thread
  private let client: PeerClient
  private var done: ((Result<PeerSocket, PeerLink.Refusal>) -> Void)?
  private var connection: PeerConnection?
  var forget: () -> Void = {}

  init(_ client: PeerClient, _ done: @escaping @Sendable (Result<PeerSocket, PeerLink.Refusal>) -> Void) {
    self.client = client
    self.done = done
  }

  func connect(on loop: LoopState, to node: String, at address: NumericAddress, _ settings: PeerSettings) {
    guard done != nil else { return }
    do throws(PeerError) {
      try PeerConnection.open(on: loop, settings, to: node, at: address, owner: self) { connection = $0 }
    } catch {
      if let connection { connection.end("\(error)") } else { refuse("\(error)") }
    }
  }

  func ready(_ connection: PeerConnection, peer: String) {
    guard connection.version >= PeerFrame.handOver else {
      return connection.end("node \(peer) has an earlier version; upgrade it", tells: true)
    }
    connection.send { PeerFrame.writeOpen(client, into: $0) }
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool {
    guard case .handed = frame else { return false }
    connection.handOver { [self] in finish(.success($0)) }
    return true
  }

  func ended(_ connection: PeerConnection, reason: String) { refuse(reason) }

  func refuse(_ reason: String) { finish(.failure(PeerLink.Refusal(reason: reason))) }

  func end(_ reason: String) {
    if let connection { connection.end(reason, tells: true) } else { refuse(reason) }
  }

  private func finish(_ result: Result<PeerSocket, PeerLink.Refusal>) {
    guard let done else { return }
    self.done = nil
    connection = nil
    forget()
    done(result)
  }
}
