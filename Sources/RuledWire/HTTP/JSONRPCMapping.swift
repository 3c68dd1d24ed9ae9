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
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("jsonrpc", plain: "2.0")
    writer.member("id", 0)
    writer.member("method", plain: method.name)
    writer.member("params")
    writeParams(&writer)
    writer.endObject()
    return Array(buffer.bytes)
  }

  /// The text of a request for `method` with these params.
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
      case "failures" where method == .log: params[name] = Bool(value).map { .bool($0) } ?? .string(value)
      case "data" where method == .effects: params[name] = Bool(value).map { .bool($0) } ?? .string(value)
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
    return Int(String(decoding: digits, as: UTF8.self)).flatMap { RequestError.Code(number: -$0) } ?? .unavailable
  }
}

extension RequestError {
  /// The HTTP status that says the same.
  package var httpStatus: Int { code.httpStatus }

  /// The value of the header `Retry-After` in seconds, rounded up; nil for an error that does not ask to send again.
  package var retryAfter: Int? {
    guard code == .overloaded else { return nil }
    let milliseconds = details.first { $0.name == "retry_after_ms" }?.value.intValue ?? 1000
    return max(1, Int(milliseconds + 999) / 1000)
  }
}

extension RequestError.Code {
  /// The HTTP status that says the same.
  package var httpStatus: Int {
    switch self {
    case .parseError, .invalidRequest, .invalidParams: 400
    case .forbidden: 403
    case .unknownMethod, .notFound: 404
    case .tooLarge: 413
    case .reloadFailed: 422
    case .overloaded: 429
    case .ruleFailed: 500
    case .unavailable, .outcomeUnknown: 503
    }
  }

  /// The code with a JSON-RPC number; nil for a number that no code has.
  package init?(number: Int) {
    guard let code = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = code
  }
}
