import RuledCore
import RuledJSON
import RuledWire

/// HTTP requests as JSON-RPC requests for the workers.
extension HTTPRouter {
  func requests(_ route: HTTPRoute, _ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    guard let method = route.endpoint.method(exchange.method) else { throw Self.unknownPath }
    switch route.endpoint {
    case .events: return try events(exchange)
    case .query: return try query(route.item, exchange)
    case .backtest: return try backtest(exchange)
    case .reload, .retry, .resend: break
    default: if exchange.method == "POST", !method.members.isEmpty { return try body(method, exchange) }
    }
    if exchange.method == "POST" { try checkHasNoParams(exchange) }
    switch route.endpoint {
    case .reload:
      return request(.reload, exchange.peer.node.isEmpty ? JSONObject() : ["node": .string(exchange.peer.node)])
    case .subject, .export, .subjectLog: return request(method, about: route.item, exchange)
    case .retry, .parkedEvent: return request(method, ["parked": .string(route.item)])
    case .revision: return request(method, ["revision": .string(route.item)])
    case .effect, .resend: return request(method, Self.effect(route.item, exchange))
    default: return request(method, JSONRPCRequest.params(of: exchange.target, for: method))
    }
  }

  /// Refuses a body with members, where the path and the query hold all params.
  private func checkHasNoParams(_ exchange: HTTPExchange) throws(HTTPError) {
    guard exchange.body.count > 0 else { return }
    let body = try jsonBody(of: exchange)
    do throws(RequestError) { try parser.value(body).checkMembers(at: "params", known: []) } catch {
      throw HTTPError(error)
    }
  }

  /// A request that any worker can execute.
  private func request(_ method: Method, _ params: JSONObject) -> RPCRequests {
    single(JSONRPCRequest.text(method, params))
  }

  /// One request, for any worker if none is named; `page` names the member of its result that is the response, if it is a page.
  private func single(_ text: [UInt8], for worker: Int? = nil, page: String? = nil) -> RPCRequests {
    RPCRequests([.init(text: text, worker: worker ?? nextWorker())], isArray: false, page: page)
  }

  /// The params that name an effect by its id, and by the subject in the target's query if it is there.
  private static func effect(_ id: String, _ exchange: HTTPExchange) -> JSONObject {
    var params = JSONRPCRequest.params(of: exchange.target, for: .effect)
    params["id"] = .string(id)
    return params
  }

  /// A request whose params are the body.
  private func body(_ method: Method, _ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let body = try jsonBody(of: exchange)
    do throws(RequestError) {
      guard try parser.value(body).kind == .object else { throw .invalidParams(path: "params", "must be an object") }
    } catch { throw HTTPError(error) }
    return single(JSONRPCRequest.text(method, capacity: body.count) { $0.raw(body) })
  }

  private func jsonBody(of exchange: HTTPExchange) throws(HTTPError) -> ByteView {
    guard HTTPContent.isJSON(exchange.headers["content-type"]) else {
      throw HTTPError(415, "the content type must be application/json")
    }
    return exchange.body.bytes
  }

  /// A backtest; its report is a page for clients that accept one.
  private func backtest(_ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let request = try body(.backtest, exchange)
    guard Self.acceptsPage(exchange), case .object(var params)? = try? JSONValue(parsing: exchange.body.bytes) else {
      return request
    }
    params["html"] = true
    return single(JSONRPCRequest.text(.backtest, params), page: "html")
  }

  /// A request for the worker that owns a subject, with further params from the target's query.
  private func request(_ method: Method, about subject: String, _ exchange: HTTPExchange) -> RPCRequests {
    var params = JSONRPCRequest.params(of: exchange.target, for: method)
    params["subject"] = .string(subject)
    return single(JSONRPCRequest.text(method, params), for: services.worker(for: Array(subject.utf8)))
  }

  private func query(_ name: String, _ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let body = try jsonBody(of: exchange)
    do throws(RequestError) {
      let object = body.isEmpty ? nil : try parser.value(body)
      // The query's name is in the path.
      try object?.checkMembers(at: "params", known: Self.queryMembers)
      let text = JSONRPCRequest.text(.query, capacity: body.count) { writer in
        writer.beginObject()
        writer.member("name", name)
        for member in Self.queryMembers where object?.member(member) != nil {
          writer.member(member, raw: body.rawMember(member))
        }
        writer.endObject()
      }
      return single(text, for: object.map { owner(of: $0) })
    } catch { throw HTTPError(error) }
  }

  private static let queryMembers = Method.query.members.filter { $0.description != "name" }

  private func events(_ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let headers = exchange.headers
    let body = exchange.body.bytes
    do throws(RequestError) {
      switch HTTPContent(contentType: headers["content-type"], hasAttributes: !headers.attributes.isEmpty) {
      case .structured: return try event(body, parser)
      case .binary:
        let text = ByteBuffer(capacity: body.count + 256)
        try BinaryEvent.write(headers, body: body, parser: parser, to: text)
        return try event(text.bytes, wholeParser)
      case .batch: return try batch(body)
      case .unsupported: break
      }
    } catch { throw HTTPError(error) }
    throw HTTPError(
      415,
      "the content type must be application/json, application/cloudevents+json or application/cloudevents-batch+json")
  }

  private func event(_ text: ByteView, _ parser: RequestParser) throws(RequestError) -> RPCRequests {
    let worker = owner(of: try parser.value(text))
    return single(JSONRPCRequest.text(.event, capacity: text.count) { $0.raw(text) }, for: worker)
  }

  private func batch(_ body: ByteView) throws(RequestError) -> RPCRequests {
    let root = try parser.value(body)
    guard root.kind == .array else { throw .invalidParams(path: "params", "must be an array of events") }
    var requests: [RPCRequests.Request] = []
    var cursor = ElementCursor(root, text: body)
    while let element = cursor.next() {
      guard requests.count < services.context.configuration.limits.inFlight else { throw services.requestBatchTooLong }
      let text = JSONRPCRequest.text(.event, capacity: element.text.count) { $0.raw(element.text) }
      requests.append(.init(text: text, worker: owner(of: element.value)))
    }
    return RPCRequests(requests, isArray: true)
  }

  /// The worker of the subject that an event or a query names.
  private func owner(of object: TapeValue) -> Int {
    object.member("subject")?.string.map { services.worker(for: $0) } ?? nextWorker()
  }

  /// The workers in turn, for requests that any of them can execute.
  func nextWorker() -> Int {
    lastWorker = (lastWorker + 1) % services.workers.count
    return lastWorker
  }
}
