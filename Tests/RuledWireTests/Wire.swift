import RuledCore
import RuledJSON
import Testing

@testable import RuledWire

/// Runs lines through the real parser and writer, as a server with a method for every name would.
enum Wire {
  /// The reply to a line, or nil for silence; a result is the method's name and its params' text.
  static func reply(to line: String) -> String? { reply(to: Array(line.utf8)) }

  /// The reply to a line, or nil for silence.
  static func reply(to line: [UInt8], parser: RequestParser = RequestParser()) -> String? {
    let buffer = ByteBuffer()
    line.withView { bytes in
      switch parser.parseRequest(bytes) {
      case .invalid(let error): ReplyWriter.error(error, id: nil, to: buffer)
      case .single(let message): answer(message, to: buffer) {}
      case .batch(var batch):
        var reply = BatchReply()
        while let message = batch.next() {
          answer(message, to: buffer) { reply.begin(to: buffer) }
        }
        reply.end(to: buffer)
      }
    }
    return buffer.count == 0 ? nil : buffer.text
  }

  /// The error codes of a reply, with the ids: `-32600 null`.
  static func errors(_ line: String) throws -> [String] {
    let reply = try #require(Wire.reply(to: line))
    let value = try JSONValue(parsing: reply, maximumDepth: 100)
    let members: [JSONValue] = if case .array(let elements) = value { elements } else { [value] }
    return members.map { member in
      guard case .object(let object) = member, case .object(let error)? = object["error"] else { return "result" }
      return "\(text(error["code"])) \(text(object["id"]))"
    }
  }

  /// Calls `body` with the request that a call of `method` with `params` makes.
  static func request<Result>(
    _ method: String = "event", _ params: String, _ body: (RequestView) throws -> Result
  ) throws -> Result {
    let parser = RequestParser()
    let line = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method)\",\"params\":\(params)}".utf8)
    return try line.withView { bytes in
      guard case .single(.request(let request)) = parser.parseRequest(bytes) else {
        throw RequestError(.invalidRequest, "no request: \(params)")
      }
      return try body(request)
    }
  }

  /// What is wrong with params: the offending member's path, or nil if nothing is.
  static func fault<Params>(
    _ method: String, _ params: String, _ decode: (RequestView) throws(RequestError) -> Params
  ) throws -> String? {
    try request(method, params) { request in
      do throws(RequestError) {
        _ = try decode(request)
        return nil
      } catch {
        #expect(error.code == .invalidParams)
        return error.details["path"].map(text)
      }
    }
  }

  /// The value's JSON, or a string's own text.
  static func text(_ value: JSONValue?) -> String {
    if case .string(let text)? = value { return text }
    let buffer = ByteBuffer()
    value?.write(to: buffer)
    return buffer.text
  }

  private static func answer(_ message: RequestMessage, to buffer: ByteBuffer, begin: () -> Void) {
    switch message {
    case .invalid(let id, let error):
      begin()
      ReplyWriter.error(error, id: id, to: buffer)
    case .request(let request) where !request.isNotification:
      begin()
      ReplyWriter.beginResult(id: request.id, to: buffer)
      buffer.append(UInt8(ascii: "["))
      buffer.append(jsonString: request.methodName)
      buffer.append(UInt8(ascii: ","))
      buffer.append(request.paramsText)
      buffer.append(UInt8(ascii: "]"))
      ReplyWriter.endResult(to: buffer)
    case .request: break
    }
  }
}
