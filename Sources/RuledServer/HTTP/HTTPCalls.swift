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
  private var answers: [ReplyText?]
  private var next = 0
  private var pending = 0

  /// Requests of which none has been made.
  init(_ calls: [Call], isBatch: Bool) {
    self.calls = calls
    self.isBatch = isBatch
    answers = Array(repeating: nil, count: calls.count)
  }

  /// The next requests in order that are for the same worker; empty at the end.
  mutating func nextGroup() -> Range<Int> {
    let start = next
    while next < calls.count, calls[next].owner == calls[start].owner { next += 1 }
    pending = next - start
    return start..<next
  }

  /// Takes an answer; true when it was the last of its group.
  mutating func take(_ place: Int, _ reply: ReplyText) -> Bool {
    guard answers.indices.contains(place), answers[place] == nil else { return false }
    answers[place] = reply
    pending -= 1
    return pending == 0
  }

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
