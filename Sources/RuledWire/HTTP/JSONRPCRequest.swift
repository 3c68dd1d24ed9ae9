package import RuledCore
package import RuledJSON

/// The JSON-RPC request that an HTTP request stands for.
package enum JSONRPCRequest {
  /// The text of a request for `method`; `writeParams` writes its params.
  ///
  /// `capacity` is the expected length of the params in bytes.
  package static func text(
    _ method: Method, capacity: Int = 256, _ writeParams: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    let buffer = ByteBuffer(capacity: capacity + 64)
    write(method.rawValue, id: 0, to: buffer, writeParams)
    return Array(buffer.bytes)
  }

  /// Writes a request, without the newline that ends a line; `writeParams` writes its params.
  package static func write(
    _ method: String, id: Int64, to buffer: ByteBuffer, _ writeParams: (inout JSONWriter) -> Void
  ) {
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("jsonrpc", plain: "2.0")
    writer.member("id", id)
    writer.member("method", method)
    writer.member("params")
    writeParams(&writer)
    writer.endObject()
  }

  package static func text(_ method: Method, _ params: JSONObject) -> [UInt8] {
    text(method) { $0.value(.object(params)) }
  }

  /// The params that the query of a target stands for; empty parameters are left out.
  ///
  /// `limit`, `version` and the `after` of `watch` and `log` are numbers, `plugins` is a comma-separated list, `labels` is JSON. A value of another type
  /// stays a string, which the method refuses.
  package static func params(of target: HTTPTarget, for method: Method) -> JSONObject {
    var params = JSONObject()
    for (name, value) in target.formParameters where !value.isEmpty {
      switch name {
      case "limit", "version": params[name] = number(value)
      case "after" where method == .watch || method == .log: params[name] = number(value)
      case "plugins": params[name] = .array(value.split(separator: ",").map { .string(String($0)) })
      case "failures" where method == .log, "data" where method == .effects:
        params[name] = Bool(value).map { .bool($0) } ?? .string(value)
      case "labels": params[name] = (try? JSONValue(parsing: value)) ?? .string(value)
      default: params[name] = .string(value)
      }
    }
    return params
  }

  /// `text` as an integer, or as a string if it is none.
  package static func number(_ text: String) -> JSONValue { Int64(text).map { .integer($0) } ?? .string(text) }
}

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
    let number = Int(digits.text).map { -$0 }
    return RequestError.Code.allCases.first { $0.number == number } ?? .unavailable
  }
}
