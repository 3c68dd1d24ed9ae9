internal import RuledCore

/// Takes the batches of other nodes.
package final class PeerListener: @unchecked Sendable {  // all but constants belong to the loop's thread
  /// Is called with each batch that came, on the loop's thread; it is not to wait.
  package typealias Receiver = @Sendable (_ batch: PeerBatch, _ reply: PeerReply) -> Void

  /// The port that the listener is bound to.
  package let port: UInt16
  private let loop: PeerLoop
  private let acceptor: Acceptor

  /// Listens at an address until `close`.
  ///
  /// - Throws: `.address` when `address` is no host and port, `.unknownHost`, or `.system` when it can't be listened on.
  package init(
    on loop: PeerLoop, at address: String, _ settings: PeerSettings, receive: @escaping Receiver
  ) throws(PeerError) {
    let address = try PeerAddress(address)
    let acceptor = Acceptor(loop, settings, receive)
    let result = OneResult<Result<UInt16, PeerError>>()
    let isRunning = loop.call { state in
      address.resolve(on: state) { addresses, failure in
        result.give(acceptor.listen(on: state, at: addresses.first, failure))
      }
      return true
    }
    guard isRunning == true else { throw .stopped }
    port = try result.wait().get()
    self.loop = loop
    self.acceptor = acceptor
  }

  /// Shows another identity to connections from now on, as after a certificate was renewed.
  package func use(_ identity: PeerIdentity) { loop.post { [acceptor] _ in acceptor.settings.identity = identity } }

  /// Stops listening and ends the connections; answers that are not sent yet are dropped.
  package func close() {
    loop.post { [acceptor] loop in
      acceptor.shutDown()
      loop.unwatch(acceptor)
    }
  }
}

/// The part of a listener on the loop.
private final class Acceptor: Watched, ConnectionOwner, @unchecked Sendable {  // confined to the loop's thread
  private let loop: PeerLoop
  var settings: PeerSettings
  private let receiver: PeerListener.Receiver
  private var stream: PeerStream?
  private var callers: [ObjectIdentifier: Caller] = [:]

  private struct Caller {
    let connection: PeerConnection
    let address: String
    let answers: AnswerQueue
    var node: String?
  }

  init(_ loop: PeerLoop, _ settings: PeerSettings, _ receiver: @escaping PeerListener.Receiver) {
    self.loop = loop
    self.settings = settings
    self.receiver = receiver
  }

  func listen(on state: LoopState, at address: NumericAddress?, _ failure: PeerError?) -> Result<UInt16, PeerError> {
    guard let address else { return .failure(failure ?? .unknownHost("no address")) }
    do throws(PeerError) {
      let stream = try PeerStream(on: state)
      do throws(PeerError) {
        try stream.listen(at: address) { [weak self] in self?.accept(on: state) }
      } catch {
        stream.close()
        throw error
      }
      self.stream = stream
      state.watch(self)
      return .success(stream.address(ofPeer: false)?.port ?? 0)
    } catch {
      return .failure(error)
    }
  }

  private func accept(on state: LoopState) {
    guard let listener = stream, let accepted = try? PeerStream(on: state) else { return }
    do throws(PeerError) {
      try accepted.accept(from: listener)
      let address = accepted.address(ofPeer: true)?.description ?? "an unknown address"
      guard callers.count < settings.limits.connections else {
        settings.note(.refused(address: address, reason: "\(callers.count) connections are open, no more may be"))
        return accepted.close()
      }
      let connection = try PeerConnection(on: state, accepted, settings, to: nil, owner: self)
      let answers = AnswerQueue(on: loop, settings.limits)
      callers[ObjectIdentifier(connection)] = Caller(connection: connection, address: address, answers: answers)
      connection.begin()
    } catch {
      accepted.close()
    }
  }

  func check(now: UInt64) {}

  func shutDown() {
    stream?.close()
    stream = nil
    for caller in callers.values { caller.connection.end("node \(settings.name) stops listening", tells: true) }
  }

  func ready(_ connection: PeerConnection, peer: String) {
    callers[ObjectIdentifier(connection)]?.node = peer
    callers[ObjectIdentifier(connection)]?.answers.use(connection)
    settings.note(.joined(node: peer))
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool {
    guard case .requests(let number, let batch) = frame,
      let caller = callers[ObjectIdentifier(connection)], let node = caller.node
    else { return false }
    guard caller.answers.reserve(batch) else {
      connection.send { output in
        for index in 0..<batch.count { PeerFrame.writeAnswer(number: number, index: index, .overloaded, into: output) }
      }
      return true
    }
    receiver(batch, PeerReply(from: node, number: number, batch, through: caller.answers))
    return true
  }

  func ended(_ connection: PeerConnection, reason: String) {
    guard let caller = callers.removeValue(forKey: ObjectIdentifier(connection)) else { return }
    caller.answers.use(nil)
    if let node = caller.node {
      settings.note(.left(node: node, reason: reason))
    } else {
      settings.note(.refused(address: caller.address, reason: reason))
    }
  }
}
