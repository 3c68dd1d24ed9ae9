import RuledCore
import RuledEngine

extension HTTPServer {
  /// Has a worker call the `web` handler of the plugin that claims the host.
  func callWebHandler(of host: String, for exchange: HTTPExchange, on worker: Int) {
    let request = ByteBuffer(capacity: exchange.body.count + 1024)
    // No rule sees a secret.
    let headers = exchange.headers.fields.filter {
      $0.name != "authorization" || services.bearerToken?.matches(authorization: $0.value) != true
    }
    JSONValue.object([
      "method": .string(exchange.method), "host": .string(host), "path": .string(exchange.target.path),
      "query": .object(Self.object(exchange.target.parameters.map { ($0.name, $0.value) })),
      "query_string": .string(exchange.target.query),
      "headers": .object(Self.object(headers.map { ($0.name, $0.value) })),
      "body": .string(exchange.body.text),
    ]).write(to: request)
    let token = exchange.token
    register(exchange)
    let isSent = services.workers[worker].send(
      .evaluate { [self] evaluator in finish(token, evaluator.callWebHandler(of: host, request)) })
    if !isSent { finish(token, Self.shuttingDown) }
  }

  /// The pairs as an object; the values of a repeated name are joined like a header's.
  private static func object(_ pairs: [(String, String)]) -> JSONObject {
    var object = JSONObject()
    for (name, value) in pairs {
      let before = object[name]?.stringValue.map { $0 + (name == "cookie" ? "; " : ", ") } ?? ""
      object[name] = .string(before + value)
    }
    return object
  }
}

extension Evaluator {
  /// Calls the handler of a host; the reason of a failure goes to the log, not to the client.
  fileprivate func callWebHandler(of host: String, _ request: ByteBuffer) -> HTTPResponse {
    do throws(Failure) {
      guard let results = try handlers.web(host: host, request: request.bytes) else {
        return HTTPResponse(RequestError(.notFound, "there is nothing at this host"))
      }
      if let response = HTTPResponse(webHandler: results[0]) { return response }
      context.log.write(
        LogLine(.error, "the web handler of '\(host)' answered no {status, headers, body} that can be sent"),
        limitedBy: "an answer of a web handler")
    } catch {
      context.log.write(
        LogLine(
          .error, "the web handler of '\(host)' failed: \(error.message)", plugin: error.plugin, rule: error.rule),
        limitedBy: "a failure of a web handler of \(error.plugin)")
    }
    return HTTPResponse(RequestError(.ruleFailed, "this page can't be shown"))
  }
}

extension HTTPResponse {
  /// Fields that the server sets itself.
  private static let reservedFields: Set<String> = [
    "connection", "content-length", "transfer-encoding", "upgrade", "date",
  ]

  /// The response that a `web` handler describes with `{status, headers, body}`; nil when it can't be sent.
  init?(webHandler answer: JSONValue?) {
    guard let answer = answer?.objectValue, let status = Self.status(answer["status"]),
      let headers = Self.headers(answer["headers"] ?? .null)
    else { return nil }
    self.init(status, json: [])
    self.headers = headers
    switch answer["body"] ?? .null {
    case .null: break
    case .string(let body): self.body = Array(body.utf8)
    default: return nil
    }
    if !body.isEmpty, !headers.contains(where: { $0.name == "content-type" }) {
      self.headers.append(("content-type", "text/plain; charset=utf-8"))
    }
  }

  private static func status(_ value: JSONValue?) -> Int? {
    guard let value else { return 200 }
    guard let number = value.doubleValue, (200...599).contains(number), number == number.rounded() else { return nil }
    return Int(number)
  }

  private static func headers(_ value: JSONValue) -> [(name: String, value: String)]? {
    if value.isNull || value.arrayValue?.isEmpty == true { return [] }
    guard let object = value.objectValue else { return nil }
    var headers: [(name: String, value: String)] = []
    for member in object {
      let name = member.name.lowercased()
      guard name.utf8.isToken else { return nil }
      for value in member.value.arrayValue ?? [member.value] {
        guard let text = fieldValue(value) else { return nil }
        if !reservedFields.contains(name) { headers.append((name, text)) }
      }
    }
    return headers
  }

  private static func fieldValue(_ value: JSONValue) -> String? {
    switch value {
    case .string(let text): text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F } ? nil : text
    case .integer, .number: value.text
    default: nil
    }
  }
}
