import RuledCore
import RuledWire

/// The JSON-RPC requests that an HTTP request stands for: one, or those of a batch, which are carried out in their order.
struct HTTPCalls: Sendable {
  /// One request.
  struct Call: Sendable {
    /// The request as text.
    let text: [UInt8]
    /// The worker that it is for.
    let owner: Int
  }

  /// The requests.
  let calls: [Call]
  /// Whether they are answered with an array.
  let isBatch: Bool
  /// How many bytes the requests take, and the answers that are there.
  private(set) var heldBytes: Int
  /// What a request and its answer take beside their texts.
  private static let overhead = 128
  private var answers: [ReplyText?]
  private var next = 0
  private var pending = 0

  /// Requests of which none has been made.
  init(_ calls: [Call], isBatch: Bool) {
    self.calls = calls
    self.isBatch = isBatch
    answers = Array(repeating: nil, count: calls.count)
    heldBytes = calls.reduce(0) { $0 + $1.text.count + Self.overhead }
  }

  /// The next requests in order that are for the same worker, a share of them at most; empty at the end and while some are under way.
  mutating func nextShare() -> Range<Int> {
    let start = next
    guard pending == 0 else { return start..<start }
    while next < calls.count, next - start < Limits.batchShare, calls[next].owner == calls[start].owner { next += 1 }
    pending = next - start
    return start..<next
  }

  /// Takes an answer; false when it is there already.
  mutating func take(_ place: Int, _ reply: ReplyText) -> Bool {
    guard answers.indices.contains(place), answers[place] == nil else { return false }
    answers[place] = reply
    heldBytes += reply.body.count
    pending -= 1
    return true
  }

  /// Whether all requests are answered.
  var isAnswered: Bool { next == calls.count && pending == 0 }

  /// The response to all answers.
  var response: HTTPResponse {
    guard isBatch else { return answers.first.flatMap { $0 }.map { HTTPResponse($0) } ?? HTTPResponse(200, json: []) }
    var body: [UInt8] = [UInt8(ascii: "[")]
    for (place, answer) in answers.enumerated() {
      if place > 0 { body.append(UInt8(ascii: ",")) }
      body += answer?.body ?? []
    }
    body.append(UInt8(ascii: "]"))
    return HTTPResponse(200, json: body)
  }
}
