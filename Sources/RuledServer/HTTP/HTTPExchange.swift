import CMicroHTTPD
import RuledCore
import RuledWire
import Synchronization

/// One HTTP request and what becomes of it.
///
/// Its connection is suspended while others work on the answer; it cannot go away meanwhile.
final class HTTPExchange: @unchecked Sendable {  // what is not in the mutex belongs to the server's thread
  /// What the request waits for.
  enum Phase {
    /// Its header fields.
    case fresh
    /// Its body.
    case receiving
    /// Its answer.
    case waiting
    /// Nothing: the response is on its way.
    case answered
  }

  private struct Shared {
    var isSuspended = false
    var response: HTTPResponse?
    var calls: HTTPCalls?
  }

  let token: UInt64
  let target: HTTPTarget
  private let connection: OpaquePointer
  var phase = Phase.fresh
  var method = ""
  /// Whether the request has to name a host.
  var needsHost = false
  var headers = HTTPHeaders()
  var body = ByteBuffer(capacity: 16)
  /// Whether more came than is taken.
  var isTooLarge = false
  /// Whether the server counts it among those under way.
  var isCounted = false
  /// The events that it is answered with, if it watches.
  var stream: EventStream?
  private let shared = Mutex(Shared())

  /// A request of which only the target is known.
  init(_ token: UInt64, target: HTTPTarget, connection: OpaquePointer) {
    self.token = token
    self.target = target
    self.connection = connection
  }

  /// A parameterless request's method, with HEAD as GET.
  var plainMethod: String { method == "HEAD" ? "GET" : method }

  /// Adds to the body, up to `limit` bytes.
  func take(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    guard !isTooLarge else { return }
    if body.count + bytes.count > limit {
      isTooLarge = true
      body = ByteBuffer(capacity: 16)
    } else {
      body.append(bytes)
    }
  }

  // MARK: Waiting

  /// Stops the connection until `resume` or `finish`; on the server's thread.
  func suspend() { shared.withLock { suspend(&$0) } }

  private func suspend(_ shared: inout Shared) {
    shared.isSuspended = true
    MHD_suspend_connection(connection)
  }

  /// Lets the connection go on, if it is suspended.
  func resume() { shared.withLock { resume(&$0) } }

  private func resume(_ shared: inout Shared) {
    guard shared.isSuspended else { return }
    shared.isSuspended = false
    MHD_resume_connection(connection)
  }

  /// Answers with a response; only the first one counts.
  func finish(_ response: HTTPResponse) {
    shared.withLock { shared in
      guard shared.response == nil else { return }
      shared.response = response
      resume(&shared)
    }
  }

  /// The response, or nil when it is not there yet; the connection then stops again.
  func responseOrSuspend() -> HTTPResponse? {
    shared.withLock { shared in
      if let response = shared.response { return response }
      suspend(&shared)
      return nil
    }
  }

  // MARK: Calls

  /// Begins calls; answers those to be made first.
  func begin(_ calls: HTTPCalls) -> Range<Int> {
    shared.withLock { shared in
      var calls = calls
      let group = calls.nextGroup()
      shared.calls = calls
      return group
    }
  }

  /// The call of a place.
  func call(_ place: Int) -> HTTPCalls.Call? { shared.withLock { $0.calls?.calls[place] } }

  /// Takes the answer of a call; answers the calls to be made next, or the whole response once all is answered.
  func answered(_ place: Int, _ reply: ReplyText) -> (next: Range<Int>, whole: HTTPResponse?) {
    shared.withLock { shared in
      guard shared.calls != nil, shared.calls?.take(place, reply) == true else { return (0..<0, nil) }
      let group = shared.calls?.nextGroup() ?? 0..<0
      return (group, group.isEmpty ? shared.calls?.response : nil)
    }
  }
}
