internal import RuledCore
internal import Synchronization

/// This node's link to one other node: sends batches of requests there and hands over the answers.
///
/// The link connects again by itself for as long as it is open. Each request of a batch that `send` has accepted gets exactly one answer. Answers
/// come in the order in which the other node gave them, so that those of one subject keep their order.
package final class PeerLink: Watched, ConnectionOwner, @unchecked Sendable {  // the loop's thread has all but `state`
  /// Whether a batch is on its way.
  package enum Acceptance: Sendable, Equatable {
    /// Each of its requests will be answered.
    case accepted
    /// Too much is unanswered; none of it is sent.
    case overloaded
    /// The link is down; none of it is sent.
    case unavailable
  }

  /// Is called once for each request of a batch, with its index, on the loop's thread; it is not to wait.
  package typealias Receiver = @Sendable (_ index: Int, _ answer: PeerAnswer) -> Void

  /// The node at the other end.
  package let node: String
  private let address: PeerAddress
  private let loop: PeerLoop
  private let limits: PeerLimits
  private let state = Mutex(State())

  private struct State {
    var isUp = false
    var isClosed = false
    var waiting: [(batch: PeerBatch, receive: Receiver)] = []
    var unansweredBytes = 0
    var unansweredRequests = 0
  }

  private struct Flight {
    let receive: Receiver
    let bytes: Int
    var remaining: Int
    var isAnswered: [Bool]
  }

  private var settings: PeerSettings
  private var loopState: LoopState?
  private var connection: PeerConnection?
  private var isConnecting = false
  private var failures = 0
  private var due: UInt64 = 0
  private var lastNumber: UInt64 = 0
  private var flights: [UInt64: Flight] = [:]

  /// A link to `node`, which begins to connect.
  ///
  /// - Throws: `.address` when `address` is no host and port.
  package init(on loop: PeerLoop, to node: String, at address: String, _ settings: PeerSettings) throws(PeerError) {
    self.node = node
    self.address = try PeerAddress(address)
    self.loop = loop
    self.settings = settings
    limits = settings.limits
    loop.post { [self] loop in
      loop.watch(self)
      connect(on: loop)
    }
  }

  /// Whether the link stands; from any thread.
  package var isUp: Bool { state.withLock { $0.isUp } }

  /// Sends a batch; from any thread, without waiting.
  ///
  /// Batches that one thread sends arrive in their order. A batch larger than `PeerLimits.unansweredBytes` is always `overloaded`.
  package func send(_ batch: PeerBatch, _ receive: @escaping Receiver) -> Acceptance {
    guard batch.count > 0 else { return .accepted }
    let (acceptance, isFirst) = state.withLock { state -> (Acceptance, Bool) in
      guard state.isUp else { return (.unavailable, false) }
      guard state.unansweredBytes + batch.byteCount <= limits.unansweredBytes,
        state.unansweredRequests + batch.count <= limits.unansweredRequests
      else { return (.overloaded, false) }
      state.unansweredBytes += batch.byteCount
      state.unansweredRequests += batch.count
      state.waiting.append((batch, receive))
      return (.accepted, state.waiting.count == 1)
    }
    if isFirst { loop.post { [self] _ in sendWaiting() } }
    return acceptance
  }

  /// Shows another identity from the next connection on, as after a certificate was renewed.
  package func use(_ identity: PeerIdentity) { loop.post { [self] _ in settings.identity = identity } }

  /// Ends the link; what is unanswered is answered `unavailable`.
  package func close() {
    loop.post { [self] loop in
      shutDown()
      loop.unwatch(self)
    }
  }

  // MARK: Connecting

  private func connect(on loop: LoopState) {
    guard !state.withLock({ $0.isClosed }) else { return }
    isConnecting = true
    loopState = loop
    address.resolve(on: loop) { [self] addresses, failure in
      isConnecting = false
      guard !state.withLock({ $0.isClosed }) else { return }
      do throws(PeerError) {
        guard !addresses.isEmpty else { throw failure ?? .unknownHost("no address") }
        let stream = try PeerStream(on: loop)
        do throws(PeerError) {
          let connection = try PeerConnection(on: loop, stream, settings, to: node, owner: self)
          self.connection = connection
          // The next attempt takes the next address.
          try stream.connect(to: addresses[failures % addresses.count])
        } catch {
          stream.close()
          throw error
        }
      } catch {
        if let connection { connection.end("\(error)") } else { fail("\(error)") }
      }
    }
  }

  private func fail(_ reason: String) {
    guard let loopState else { return }
    failures += 1
    let delay = limits.backoff.delay(after: failures)
    due = loopState.now + delay
    settings.note(.broken(node: node, reason: "\(address): \(reason)", retryMilliseconds: delay))
  }

  func check(now: UInt64) {
    guard connection == nil, !isConnecting, now >= due, let loopState else { return }
    connect(on: loopState)
  }

  func shutDown() {
    state.withLock { $0.isClosed = true }
    loopState = nil
    connection?.end("node \(settings.name) has closed the link", tells: true)
  }

  // MARK: The connection

  func ready(_ connection: PeerConnection, peer: String) {
    failures = 0
    state.withLock { $0.isUp = true }
    settings.note(.linked(node: node))
  }

  func ended(_ connection: PeerConnection, reason: String) {
    self.connection = nil
    let waiting = state.withLock { state in
      state.isUp = false
      let waiting = state.waiting
      state.waiting = []
      state.unansweredBytes = 0
      state.unansweredRequests = 0
      return waiting
    }
    let broken = flights.sorted { $0.key < $1.key }
    flights = [:]
    for (_, flight) in broken {
      for index in flight.isAnswered.indices where !flight.isAnswered[index] {
        flight.receive(index, .unavailable(wasSent: true))
      }
    }
    for (batch, receive) in waiting {
      for index in 0..<batch.count { receive(index, .unavailable(wasSent: false)) }
    }
    fail(reason)
  }

  private func sendWaiting() {
    guard let connection else { return }
    let waiting = state.withLock { state in
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for (batch, receive) in waiting {
      lastNumber += 1
      flights[lastNumber] = Flight(
        receive: receive, bytes: batch.byteCount, remaining: batch.count,
        isAnswered: Array(repeating: false, count: batch.count))
      connection.send { PeerFrame.writeRequests(number: lastNumber, batch, into: $0) }
    }
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool {
    guard case .answer(let number, let index, let outcome, let bytes) = frame else { return false }
    guard let slot = flights.index(forKey: number), index < flights.values[slot].isAnswered.count,
      !flights.values[slot].isAnswered[index]
    else { return false }
    flights.values[slot].isAnswered[index] = true
    flights.values[slot].remaining -= 1
    let flight = flights.values[slot]
    if flight.remaining == 0 {
      flights.remove(at: slot)
      state.withLock { state in
        state.unansweredBytes -= flight.bytes
        state.unansweredRequests -= flight.isAnswered.count
      }
    }
    switch outcome {
    case .answered: flight.receive(index, .answered(bytes))
    case .overloaded: flight.receive(index, .overloaded)
    case .unavailable: flight.receive(index, .unavailable(wasSent: true))
    }
    return true
  }
}
