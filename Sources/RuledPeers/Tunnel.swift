internal import RuledCore
internal import RuledIO

/// The client's side of a tunnel; confined to the loop.
final class Tunnel: ConnectionOwner, @unchecked Sendable {  // confined to the loop's thread
  private let socket: Int32
  private let client: PeerClient
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
