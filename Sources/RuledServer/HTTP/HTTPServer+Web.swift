import RuledCore
import RuledEngine
import RuledLua
import RuledWire

extension HTTPServer {
  /// Has a worker call the plugin that claims the host.
  func callWeb(_ host: String, _ exchange: HTTPExchange) {
    let buffer = ByteBuffer(capacity: exchange.body.count + 1024)
    JSONValue.object([
      "method": .string(exchange.method), "host": .string(host), "path": .string(exchange.target.path),
      "query": .object(Self.object(exchange.target.parameters.map { ($0.name, $0.value) })),
      "query_string": .string(exchange.target.query),
      "headers": .object(Self.object(exchange.headers.fields.map { ($0.name, $0.value) })),
      "body": .string(exchange.body.text),
    ]).write(to: buffer)
    let token = exchange.token
    wait(exchange)
    let isSent = services.workers[anyWorker()].send(
      .perform { [self] worker in finish(token, worker.web(host, buffer)) })
    if !isSent { finish(token, HTTPResponse(RequestError(.unavailable, "the daemon is shutting down"))) }
  }

  /// The pairs as an object; the values of a repeated name are joined as those of a header are.
  private static func object(_ pairs: [(String, String)]) -> JSONObject {
    var object = JSONObject()
    for (name, value) in pairs {
      let before = object[name]?.stringValue.map { $0 + (name == "cookie" ? "; " : ", ") } ?? ""
      object[name] = .string(before + value)
    }
    return object
  }
}

extension Worker {
  /// Calls the handler for a host; what is wrong with it goes to the log and not to the client.
  func web(_ host: String, _ request: ByteBuffer) -> HTTPResponse {
    do throws(Failure) {
      guard let answer = try evaluator.handlers.web(host: host, request: request.bytes) else {
        return HTTPResponse(RequestError(.notFound, "there is nothing at this host"))
      }
      if let response = WebAnswer.response(answer[0]) { return response }
      services.context.log.write(
        LogLine(.error, "the web handler of '\(host)' answered no {status, headers, body} that can be sent"))
    } catch {
      services.context.log.write(
        LogLine(.error, "the web handler of '\(host)' failed: \(error.message)", plugin: error.plugin, rule: error.rule)
      )
    }
    return HTTPResponse(RequestError(.ruleFailed, "this page can't be shown"))
  }
}
