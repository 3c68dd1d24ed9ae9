package import RuledCore
internal import Synchronization

/// The way back for the answers to one batch; from any thread.
///
/// Each request is answered once. Answers leave in the order in which they are given: whoever answers the requests of a subject in their order
/// keeps it. What is unanswered when the reply is dropped is answered `unavailable`.
package final class PeerReply: Sendable {
  /// The node that asks.
  package let node: String
  /// How many requests there are to answer.
  package let count: Int
  private let number: UInt64
  private let bytes: Int
  private let returns: AnswerQueue
  private let state: Mutex<(isAnswered: [Bool], remaining: Int)>

  init(from node: String, number: UInt64, _ batch: PeerBatch, through returns: AnswerQueue) {
    self.node = node
    self.number = number
    self.returns = returns
    count = batch.count
    bytes = batch.byteCount
    state = Mutex((Array(repeating: false, count: batch.count), batch.count))
  }

  deinit {
    let missing = state.withLock { state in state.isAnswered.indices.filter { !state.isAnswered[$0] } }
    guard !missing.isEmpty else { return }
    for index in missing { returns.add(number: number, index: index, .unavailable, .empty) }
    returns.release(bytes: bytes, requests: count)
  }

  /// Answers a request.
  package func answer(_ index: Int, _ bytes: ByteView) { give(index, .answered, bytes) }

  /// Says that a request was not begun, because there is too much to do.
  package func refuse(_ index: Int) { give(index, .overloaded, .empty) }

  /// Says that nobody knows what became of a request.
  package func giveUp(_ index: Int) { give(index, .unavailable, .empty) }

  private func give(_ index: Int, _ outcome: PeerFrame.Outcome, _ answer: ByteView) {
    let isLast = state.withLock { state in
      precondition(!state.isAnswered[index], "a request is answered once")
      state.isAnswered[index] = true
      state.remaining -= 1
      return state.remaining == 0
    }
    returns.add(number: number, index: index, outcome, answer)
    if isLast { returns.release(bytes: bytes, requests: count) }
  }
}

/// The answers of any thread that wait for the loop to send them on one connection, and what is unanswered on it.
final class AnswerQueue: Sendable {
  private let loop: PeerLoop
  private let limits: PeerLimits
  private let state = Mutex(State())

  private struct State {
    var frames = ByteBuffer()
    var connection: PeerConnection?
    var unansweredBytes = 0
    var unansweredRequests = 0
  }

  init(on loop: PeerLoop, _ limits: PeerLimits) {
    self.loop = loop
    self.limits = limits
  }

  /// Sends answers on this connection, until it is nil: then they are dropped, as the asking node takes them for `unavailable`.
  func use(_ connection: PeerConnection?) { state.withLock { $0.connection = connection } }

  /// Counts requests as unanswered; false when there are too many.
  func reserve(_ batch: PeerBatch) -> Bool {
    state.withLock { state in
      guard state.unansweredBytes + batch.byteCount <= limits.unansweredBytes,
        state.unansweredRequests + batch.count <= limits.unansweredRequests
      else { return false }
      state.unansweredBytes += batch.byteCount
      state.unansweredRequests += batch.count
      return true
    }
  }

  /// Counts the requests of a batch as answered.
  func release(bytes: Int, requests: Int) {
    state.withLock { state in
      state.unansweredBytes -= bytes
      state.unansweredRequests -= requests
    }
  }

  /// Adds an answer, which leaves soon.
  func add(number: UInt64, index: Int, _ outcome: PeerFrame.Outcome, _ bytes: ByteView) {
    // An answer that no frame can hold would break the connection each time that it is given.
    let fits = bytes.count + PeerFrame.answerBytes <= limits.frameBytes
    let isFirst = state.withLock { state in
      guard state.connection != nil else { return false }
      let isFirst = state.frames.count == 0
      PeerFrame.writeAnswer(
        number: number, index: index, fits ? outcome : .unavailable, fits ? bytes : .empty, into: state.frames)
      return isFirst
    }
    if isFirst { loop.post { [self] _ in send() } }
  }

  private func send() {
    let (frames, connection) = state.withLock { state in
      let frames = state.frames
      state.frames = ByteBuffer(capacity: min(frames.count, 64 << 10))
      return (frames, state.connection)
    }
    connection?.send { $0.append(frames) }
  }
}
