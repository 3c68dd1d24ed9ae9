import RuledCore
import RuledIO
import RuledWire
import Synchronization

/// One complete HTTP request and the JSON-RPC requests that it stands for; its connection waits for the response.
final class HTTPExchange: Sendable {
  let token: UInt64
  let connection: UInt64
  let peer: ClientAccess
  /// A number that stands for the owner of its connection.
  let owner: UInt32
  let head: HTTPRequestHead
  /// The body, empty when it was too large; it does not change any more.
  let body: ByteBuffer
  let isTooLarge: Bool
  private let requests = Mutex<RPCRequests?>(nil)
  private let administrates = Atomic(false)
  private let abandoned = Atomic(false)

  init(_ token: UInt64, _ reader: HTTPRequestReader, connection: UInt64, peer: ClientAccess, owner: UInt32 = 0) {
    self.token = token
    self.connection = connection
    self.peer = peer
    self.owner = owner
    head = reader.head
    body = reader.body
    isTooLarge = reader.isTooLarge
  }

  /// Whether its connection has closed before the response.
  var isAbandoned: Bool { abandoned.load(ordering: .relaxed) }

  func abandon() { abandoned.store(true, ordering: .relaxed) }

  /// Whether the client may call administrators' methods, by its token or by the kernel's credentials of the peer.
  var isOfAdmin: Bool { administrates.load(ordering: .relaxed) }

  /// Notes the role of the client's token; with none the kernel's credentials decide.
  func authorize(_ role: Role?) { administrates.store(role.map { $0 == .admin } ?? peer.isAdmin, ordering: .relaxed) }

  var method: String { head.method }
  var target: HTTPTarget { head.target }
  var headers: HTTPHeaders { head.headers }

  /// Stores the requests of the exchange; returns the indices of the first ones to send.
  func begin(_ requests: RPCRequests) -> Range<Int> {
    self.requests.withLock { stored in
      var requests = requests
      let turn = requests.nextTurn()
      stored = requests
      return turn
    }
  }

  /// Requests that are for one worker; none once the exchange has ended.
  func requests(at indices: Range<Int>) -> ArraySlice<RPCRequests.Request> {
    requests.withLock { $0?.requests[indices] ?? [] }
  }

  /// Stores the reply to the request at an index.
  ///
  /// Returns the indices of the requests to send next, none if it is the last turn, and the response once all are answered; nil when no reply is
  /// expected there.
  func store(_ reply: JSONRPCReply, at index: Int, isLastTurn: Bool) -> (next: Range<Int>, response: HTTPResponse?)? {
    requests.withLock { requests in
      guard requests?.store(reply, at: index) == true else { return nil }
      return (requests?.nextTurn(isLast: isLastTurn) ?? 0..<0, requests?.isComplete == true ? requests?.response : nil)
    }
  }

  /// Drops the requests; returns the bytes that they and their replies took.
  func end() -> Int {
    requests.withLock { requests in
      defer { requests = nil }
      return requests?.usedBytes ?? 0
    }
  }
}

/// The JSON-RPC requests of one HTTP request: a single one, or an array that is executed in order.
struct RPCRequests: Sendable {
  struct Request: Sendable {
    let text: [UInt8]
    let worker: Int
  }

  /// The memory of a request and its reply beside their texts, in bytes.
  private static let overhead = 128

  private static let tooManyReplies: JSONRPCReply = {
    let buffer = ByteBuffer(capacity: 256)
    ReplyWriter.error(RequestTurn.tooManyReplies, id: nil, isAlone: false, replacing: buffer)
    return JSONRPCReply(buffer.bytes)
  }()

  let requests: [Request]
  /// Whether the response is an array of the replies.
  let isArray: Bool
  /// The member of the result that is the response, a page of HTML; nil for the whole result as JSON.
  let page: String?
  /// The bytes of the requests and of the replies so far.
  private(set) var usedBytes: Int
  private var replies: [JSONRPCReply?]
  private var replyBytes = 0
  private var next = 0
  private var pending = 0

  init(_ requests: [Request], isArray: Bool, page: String? = nil) {
    self.requests = requests
    self.isArray = isArray
    self.page = page
    replies = Array(repeating: nil, count: requests.count)
    usedBytes = requests.reduce(0) { $0 + $1.text.count + Self.overhead }
  }

  /// The indices of the next requests to send: neighbours for one worker, as many as a turn has.
  ///
  /// Empty at the end, and while replies are pending: so the requests are executed in order. If the turn before was the last, or once the replies take
  /// as much as they may, the other requests are refused.
  mutating func nextTurn(isLast: Bool = false) -> Range<Int> {
    let start = next
    guard pending == 0 else { return start..<start }
    let most = RequestTurn.length(replies: start, bytes: replyBytes)
    while next < requests.count, next - start < most, requests[next].worker == requests[start].worker { next += 1 }
    if isLast || replyBytes > RequestTurn.mostBytes {
      next = requests.count
      for index in start..<next { replies[index] = Self.tooManyReplies }
      return next..<next
    }
    pending = next - start
    return start..<next
  }

  /// Stores a reply; false when there is one already.
  mutating func store(_ reply: JSONRPCReply, at index: Int) -> Bool {
    guard replies.indices.contains(index), replies[index] == nil else { return false }
    replies[index] = reply
    usedBytes += reply.body.count
    replyBytes += reply.body.count
    pending -= 1
    return true
  }

  var isComplete: Bool { next == requests.count && pending == 0 }

  var response: HTTPResponse {
    guard isArray else {
      return replies.first.flatMap { $0 }.map { HTTPResponse($0, page: page) } ?? HTTPResponse(200, json: [])
    }
    var body: [UInt8] = [UInt8(ascii: "[")]
    for (index, reply) in replies.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body += reply?.body ?? []
    }
    body.append(UInt8(ascii: "]"))
    return HTTPResponse(200, json: body)
  }
}
