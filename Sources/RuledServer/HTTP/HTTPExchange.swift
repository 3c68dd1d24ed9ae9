import RuledCore
import RuledWire
import Synchronization

/// One HTTP request that was received whole, and what becomes of it; its connection waits meanwhile.
final class HTTPExchange: @unchecked Sendable {  // its body is not changed any more
  /// The number under which it is found.
  let token: UInt64
  /// The number of its connection.
  let connection: UInt64
  /// Who sent it.
  let peer: HTTPPeer
  /// The request line and the fields.
  let head: HTTPRequestHead
  /// The body, empty when it was too large.
  let body: ByteBuffer
  /// Whether the body had more bytes than are taken.
  let isTooLarge: Bool
  private let calls = Mutex<HTTPCalls?>(nil)

  /// A request that a connection has read.
  init(_ token: UInt64, _ reader: HTTPRequestReader, connection: UInt64, peer: HTTPPeer) {
    self.token = token
    self.connection = connection
    self.peer = peer
    head = reader.head
    body = reader.body
    isTooLarge = reader.isTooLarge
  }

  var method: String { head.method }
  var target: HTTPTarget { head.target }
  var headers: HTTPHeaders { head.headers }

  /// Begins calls; answers those to be made first.
  func begin(_ calls: HTTPCalls) -> Range<Int> {
    self.calls.withLock { held in
      var calls = calls
      let share = calls.nextShare()
      held = calls
      return share
    }
  }

  /// The call of a place.
  func call(_ place: Int) -> HTTPCalls.Call? { calls.withLock { $0?.calls[place] } }

  /// Takes the answer of a call; answers the calls to be made next, or the whole response once all is answered, and nil when nobody waits for it.
  func answered(_ place: Int, _ reply: ReplyText) -> (next: Range<Int>, whole: HTTPResponse?)? {
    calls.withLock { calls in
      guard calls?.take(place, reply) == true else { return nil }
      return (calls?.nextShare() ?? 0..<0, calls?.isAnswered == true ? calls?.response : nil)
    }
  }

  /// Forgets the calls; answers how many bytes they and their answers had.
  func end() -> Int {
    calls.withLock { calls in
      defer { calls = nil }
      return calls?.heldBytes ?? 0
    }
  }
}
