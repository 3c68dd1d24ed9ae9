package import RuledCore
import RuledJSON

/// The result or the error of a JSON-RPC reply that this daemon wrote, as HTTP sends it.
package struct JSONRPCReply: Sendable {
  /// The result or the error object as JSON.
  package let body: [UInt8]
  /// The error's code; nil for a result.
  package let code: RequestError.Code?

  /// Splits a reply that `ReplyWriter` wrote for a request of `JSONRPCRequest`.
  package init(_ reply: ByteView) {
    var reply = reply[...]
    while let last = reply.last, last == UInt8(ascii: "\n") { reply = reply.dropLast() }
    for name in ["\"result\":", "\"error\":"] {
      guard let start = Self.end(ofMember: name, in: reply) else { continue }
      body = Array(reply[start...].dropLast())
      code = name == "\"error\":" ? Self.code(ofError: body) : nil
      return
    }
    body = Array("null".utf8)
    code = nil
  }

  /// The offset after the member's name, which follows the id: 0 as in each `JSONRPCRequest`, or null.
  private static func end(ofMember name: String, in reply: Slice<ByteView>) -> Int? {
    for id in ["0", "null"] {
      let head = "{\"jsonrpc\":\"2.0\",\"id\":\(id),\(name)".utf8
      if reply.starts(with: head) { return reply.startIndex + head.count }
    }
    return nil
  }

  private static func code(ofError body: [UInt8]) -> RequestError.Code {
    let digits = body.dropFirst("{\"code\":-".utf8.count).prefix { $0.isDigit }
    return Int(String(decoding: digits, as: UTF8.self)).flatMap { RequestError.Code(number: -$0) } ?? .unavailable
  }
}
