package import RuledCore

/// A JSON-RPC answer of this daemon, taken apart for HTTP.
package struct ReplyText: Sendable {
  /// The result or the error object as JSON.
  package let body: [UInt8]
  /// What kind of error it is, or nil for a result.
  package let code: RequestError.Code?

  /// Takes an answer apart that `ReplyWriter` wrote.
  package init(_ answer: UnsafeRawBufferPointer) {
    var answer = answer[...]
    while let last = answer.last, last == UInt8(ascii: "\n") { answer = answer.dropLast() }
    for head in ["\"result\":", "\"error\":"] {
      guard let start = Self.end(of: head, in: answer) else { continue }
      body = Array(answer[start...].dropLast())
      code = head == "\"error\":" ? Self.code(of: body) : nil
      return
    }
    body = Array("null".utf8)
    code = nil
  }

  /// Behind the head, which stands right behind the id that this daemon gives to what comes over HTTP.
  private static func end(of head: String, in answer: Slice<UnsafeRawBufferPointer>) -> Int? {
    for id in ["0", "null"] {
      let whole = "{\"jsonrpc\":\"2.0\",\"id\":\(id),\(head)".utf8
      if answer.starts(with: whole) { return answer.startIndex + whole.count }
    }
    return nil
  }

  private static func code(of body: [UInt8]) -> RequestError.Code {
    let digits = body.dropFirst("{\"code\":-".utf8.count).prefix { (0x30...0x39).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self)).flatMap { RequestError.Code(number: -$0) } ?? .unavailable
  }
}
