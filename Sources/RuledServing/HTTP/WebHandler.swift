import RuledCore
import RuledEngine
import RuledWire

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
      .callHandler { [self] evaluator in finish(token, evaluator.callWebHandler(of: host, request)) })
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
      guard let results = try web(host: host, request: request.bytes) else {
        return HTTPResponse(RequestError(.notFound, "there is nothing at this host"))
      }
      switch WebAnswer.read(results) {
      case .success(let answer): return HTTPResponse(answer)
      case .failure(let refusal):
        context.log.write(
          LogLine(.error, "the web handler of '\(host)' gave an answer that can't be sent: \(refusal.reason)"),
          limitedBy: "an answer of a web handler")
      }
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
  init(_ answer: WebAnswer) {
    self.init(answer.status, json: answer.body)
    headers = answer.headers
    if !body.isEmpty, !headers.contains(where: { $0.name == "content-type" }) {
      headers.append(("content-type", "text/plain; charset=utf-8"))
    }
  }
}
