import RuledCore
import RuledEngine
import RuledJSON
import RuledWire

/// Checks complete HTTP requests, answers those that need no worker, and turns the others into JSON-RPC requests; confined to the
/// server's thread.
final class HTTPRouter {
  private unowned let server: HTTPServer
  let services: Services
  private let parser = RequestParser()
  private var lastWorker = 0

  /// A router for requests to a server.
  init(_ server: HTTPServer) {
    self.server = server
    services = server.services
  }

  /// Answers a request, or sends it to the workers.
  func route(_ exchange: HTTPExchange, on connection: HTTPConnection) {
    do throws(HTTPError) {
      let host = HTTPHost.normalized(exchange.target.authority ?? exchange.headers["host"] ?? "")
      let isClaimed = services.status.catalog?.claims(host: host) ?? false
      if exchange.peer.isVisitor, !isClaimed { throw Self.unknownHost }
      let found = isClaimed || exchange.peer.isVisitor ? nil : HTTPRoute(exchange.target)
      if found?.endpoint == .dashboard {
        if let response = openSession(exchange) { return connection.respond(response) }
      }
      let role = try role(of: exchange, needsToken: found?.endpoint.isForProbes != true)
      if exchange.isTooLarge { throw tooLarge }
      if isClaimed {
        try checkInFlight()
        return server.callWebHandler(of: host, for: exchange, on: nextWorker())
      }
      guard let route = found else { throw Self.unknownPath }
      try checkMethod(of: exchange, route.endpoint)
      try authorize(route.endpoint, exchange, role)
      try checkParameters(of: exchange, route.endpoint)
      try answer(route, exchange, on: connection)
    } catch {
      if error.status == 401, Self.wantsPage(exchange) { return connection.respond(lockedPage()) }
      connection.respond(HTTPResponse(error))
    }
  }

  // MARK: Checks

  private var tooLarge: HTTPError {
    HTTPError(
      RequestError(.tooLarge, "a body may have \(services.context.configuration.limits.requestBytes) bytes at most"))
  }

  /// The role of the bearer token's holder, or of the browser's session; nil where the kernel's credentials of the peer decide.
  private func role(of exchange: HTTPExchange, needsToken: Bool) throws(HTTPError) -> Role? {
    guard exchange.peer.isAnonymous, !exchange.peer.isVisitor else { return nil }
    if let token = server.token, token.matches(authorization: exchange.headers["authorization"]) {
      return services.context.configuration.http.role
    }
    if let role = try sessionRole(of: exchange) { return role }
    guard needsToken else { return .reader }
    throw Self.wrongToken
  }

  /// The error for a request that needs a token and has none.
  static let wrongToken = HTTPError(
    RequestError(.forbidden, "the bearer token is missing or wrong"), status: 401,
    headers: [.init(name: "www-authenticate", value: "Bearer realm=\"ruled\"")])

  /// The error for a request that takes an administrator.
  static let notAllowed = HTTPError(
    RequestError(.forbidden, "only root, the daemon's own user and the configured admins may call this"))

  private func checkMethod(of exchange: HTTPExchange, _ endpoint: HTTPEndpoint) throws(HTTPError) {
    guard !endpoint.methods.contains(exchange.method) else { return }
    let methods = endpoint.methods.joined(separator: ", ")
    throw HTTPError(
      RequestError(.unknownMethod, "this path takes \(methods)"), status: 405,
      headers: [.init(name: "allow", value: methods)])
  }

  private func authorize(_ endpoint: HTTPEndpoint, _ exchange: HTTPExchange, _ role: Role?) throws(HTTPError) {
    if let role {
      let names = exchange.target.formParameters.map(\.name)
      let isPast = endpoint == .subject && (names.contains("at") || names.contains("version"))
      if let needed = isPast ? .admin : endpoint.requiredRole(exchange.method), role < needed {
        throw HTTPError(RequestError(.forbidden, "the token's role is \(role.rawValue), this needs \(needed.rawValue)"))
      }
    } else if !endpoint.isOpen, !exchange.peer.isAdmin {
      throw Self.notAllowed
    }
    if !endpoint.isForProbes, endpoint != .metrics { try checkInFlight() }
  }

  /// Refuses a query string with a name that the endpoint does not read.
  private func checkParameters(of exchange: HTTPExchange, _ endpoint: HTTPEndpoint) throws(HTTPError) {
    let parameters = exchange.target.formParameters
    guard !parameters.isEmpty else { return }
    let known = endpoint.parameters(exchange.method)
    guard let unknown = parameters.first(where: { !known.contains($0.name) })?.name else { return }
    throw HTTPError(unknown.withView { .unknownMember($0, of: "params", known: known) })
  }

  private func checkInFlight() throws(HTTPError) {
    guard services.inFlight.load(ordering: .relaxed) > services.context.configuration.limits.inFlight else { return }
    throw HTTPError(
      RequestError(
        .overloaded, "too many requests are in flight; try again", details: [.init("retry_after_ms", 100)]))
  }

  private static let unknownHost = HTTPError(RequestError(.notFound, "there is nothing at this host"))

  private static let unknownPath = HTTPError(RequestError(.unknownMethod, "there is nothing at this path"))

  // MARK: Routes

  private func answer(
    _ route: HTTPRoute, _ exchange: HTTPExchange, on connection: HTTPConnection
  ) throws(HTTPError) {
    switch route.endpoint {
    case .health: return connection.respond(HTTPResponse(services.status.health(services)))
    case .alive: return connection.respond(HTTPResponse(["status": "alive"]))
    case .ready: return connection.respond(readiness)
    case .metrics:
      return connection.respond(HTTPResponse(200, type: MetricsWriter.contentType, DaemonMetrics.text(services)))
    case .openapi: return connection.respond(HTTPResponse(200, json: OpenAPIDocument.json))
    case .dashboard, .dashboardFile: return connection.respond(try dashboard(route))
    case .watch: return try watch(exchange, on: connection)
    default: break
    }
    let requests = try requests(route, exchange)
    if requests.requests.isEmpty { return connection.respond(requests.response) }
    guard requests.heldBytes <= HTTPServer.smallRequest || server.hasRoom else { throw HTTPServer.noRoom }
    server.execute(requests, for: exchange)
  }

  /// Whether the daemon should get requests; a status other than 200 says why it should not.
  private var readiness: HTTPResponse {
    if server.isDraining {
      return HTTPResponse(["status": "stopping", "problems": ["the daemon is shutting down"]], status: 503)
    }
    let health = services.status.health(services)
    let status = health["status"] ?? .null
    guard status != "ready" else { return HTTPResponse(["status": status]) }
    return HTTPResponse(["status": status, "problems": health["problems"] ?? []], status: 503)
  }

  private func watch(_ exchange: HTTPExchange, on connection: HTTPConnection) throws(HTTPError) {
    let cursor: WatchCursor
    do throws(RequestError) {
      var members = JSONRPCRequest.params(of: exchange.target, for: .watch)
      if let last = exchange.headers["last-event-id"], !last.isEmpty { members["after"] = JSONRPCRequest.number(last) }
      let text = JSONRPCRequest.text(.watch, members)
      let params = text.withView { bytes in Result { () throws(RequestError) in try watchParams(bytes) } }
      cursor = WatchCursor(try params.get(), hub: services.hub)
    } catch { throw HTTPError(error) }
    if exchange.method == "HEAD" { return connection.respond(HTTPResponse(200, type: "text/event-stream", [])) }
    connection.stream(from: cursor)
  }

  private func watchParams(_ text: ByteView) throws(RequestError) -> WatchParams {
    guard case .single(.request(let request)) = parser.parse(text) else {
      throw RequestError(.invalidRequest, "the parameters can't be read")
    }
    return try WatchParams(request)
  }

  /// The JSON-RPC requests that a route and its request stand for.
  private func requests(_ route: HTTPRoute, _ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let item = route.item
    switch route.endpoint {
    case .events: return try events(exchange)
    case .query: return try query(item, exchange)
    case .subjects: return list(.subjects, exchange)
    case .parked: return list(.parked, exchange)
    case .counters: return list(.counters, exchange)
    case .rules: return list(.rules, exchange)
    case .samples: return list(.samples, exchange)
    case .subject where exchange.method == "DELETE": return request(.forget, about: item)
    case .subject: return request(.state, about: item, JSONRPCRequest.params(of: exchange.target, for: .state))
    case .export: return request(.export, about: item)
    case .subjectLog: return request(.log, about: item, JSONRPCRequest.params(of: exchange.target, for: .log))
    case .log: return list(.log, exchange)
    case .explainPast: return try body(.explainPast, exchange)
    case .backtest: return try backtest(exchange)
    case .reload: return request(.reload, JSONObject())
    case .revisions: return list(.revisions, exchange)
    case .revision: return request(.revision, ["revision": .string(item)])
    case .rollback: return try body(.rollback, exchange)
    case .unpin: return request(.unpin, JSONObject())
    case .rollout where exchange.method == "POST": return try body(.rolloutStart, exchange)
    case .rollout: return request(.rolloutStatus, JSONObject())
    case .shadow where exchange.method == "POST": return try body(.shadowStart, exchange)
    case .shadow: return request(.shadowStatus, JSONObject())
    case .shadowStop: return request(.shadowStop, JSONObject())
    case .rolloutSet: return try body(.rolloutSet, exchange)
    case .rolloutPromote: return request(.rolloutPromote, JSONObject())
    case .rolloutAbort: return request(.rolloutAbort, JSONObject())
    case .retry: return request(.retry, ["parked": .string(item)])
    case .parkedEvent: return request(.drop, ["parked": .string(item)])
    case .effects: return list(.effects, exchange)
    case .effect: return request(exchange.method == "DELETE" ? .dropEffects : .effect, Self.effect(item, exchange))
    case .resend: return request(.resend, Self.effect(item, exchange))
    case .resendEffects: return try body(.resend, exchange)
    case .dropEffects: return try body(.dropEffects, exchange)
    case .lease: return try body(.lease, exchange)
    case .confirm: return try body(.confirm, exchange)
    case .backup: return request(.backup, JSONObject())
    case .release: return request(.release, JSONObject())
    case .watch, .health, .alive, .ready, .metrics, .openapi, .dashboard, .dashboardFile: throw Self.unknownPath
    }
  }

  /// A request that any worker can execute.
  private func request(_ method: Method, _ params: JSONObject) -> RPCRequests {
    RPCRequests(.init(text: JSONRPCRequest.text(method, params), worker: nextWorker()))
  }

  /// The params that name an effect by its id, and by the subject in the target's query if it is there.
  private static func effect(_ id: String, _ exchange: HTTPExchange) -> JSONObject {
    var params = JSONRPCRequest.params(of: exchange.target, for: .effect)
    params["id"] = .string(id)
    return params
  }

  /// A request whose params are the body.
  private func body(_ method: Method, _ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    guard HTTPContent.isJSON(exchange.headers["content-type"]) else {
      throw HTTPError(415, "the content type must be application/json")
    }
    let body = exchange.body.bytes
    do throws(RequestError) {
      guard try parser.value(body).kind == .object else { throw .invalidParams(path: "params", "must be an object") }
    } catch { throw HTTPError(error) }
    return RPCRequests(
      .init(text: JSONRPCRequest.text(method, capacity: body.count) { $0.raw(body) }, worker: nextWorker()))
  }

  /// A backtest, whose report is a page for who accepts one.
  private func backtest(_ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let request = try body(.backtest, exchange)
    guard Self.acceptsPage(exchange), case .object(var params)? = try? JSONValue(parsing: exchange.body.bytes) else {
      return request
    }
    params["html"] = true
    return RPCRequests(
      .init(text: JSONRPCRequest.text(.backtest, params), worker: nextWorker()), page: "html")
  }

  /// A request whose params are in the target's query.
  private func list(_ method: Method, _ exchange: HTTPExchange) -> RPCRequests {
    request(method, JSONRPCRequest.params(of: exchange.target, for: method))
  }

  /// A request about a subject; the worker passes it on if another node evaluates for the subject.
  private func request(
    _ method: Method, about subject: String, _ params: JSONObject = JSONObject()
  ) -> RPCRequests {
    var params = params
    params["subject"] = .string(subject)
    let worker = services.worker(for: Array(subject.utf8))
    return RPCRequests(.init(text: JSONRPCRequest.text(method, params), worker: worker))
  }

  // MARK: Bodies

  private func query(_ name: String, _ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    guard HTTPContent.isJSON(exchange.headers["content-type"]) else {
      throw HTTPError(415, "the content type must be application/json")
    }
    let body = exchange.body.bytes
    do throws(RequestError) {
      let object = body.isEmpty ? nil : try parser.value(body)
      guard object == nil || object?.kind == .object else { throw .invalidParams(path: "params", "must be an object") }
      try Self.checkMembers(ofQuery: object)
      let text = JSONRPCRequest.text(.query, capacity: body.count) { writer in
        writer.beginObject()
        writer.member("name", name)
        for member in Self.queryMembers where object?.member(member) != nil {
          writer.member(member, raw: body.rawMember(member))
        }
        writer.endObject()
      }
      return RPCRequests(.init(text: text, worker: object.map { owner(of: $0) } ?? nextWorker()))
    } catch { throw HTTPError(error) }
  }

  /// Refuses a query's body with a member that nobody reads; the query's name is in the path.
  private static func checkMembers(ofQuery body: TapeValue?) throws(RequestError) {
    guard var members = body?.members else { return }
    while let member = members.next() {
      guard !queryMembers.contains(where: { member.name.equals($0) }) else { continue }
      throw .unknownMember(member.name, of: "params", known: queryMembers.map(\.description))
    }
  }

  private static let queryMembers = Method.query.members.filter { $0.description != "name" }

  private func events(_ exchange: HTTPExchange) throws(HTTPError) -> RPCRequests {
    let headers = exchange.headers
    let body = exchange.body.bytes
    do throws(RequestError) {
      switch HTTPContent(contentType: headers["content-type"], hasAttributes: !headers.attributes.isEmpty) {
      case .structured: return try event(body)
      case .binary:
        let text = ByteBuffer(capacity: body.count + 256)
        try BinaryEvent.write(headers, body: body, parser: parser, to: text)
        return try event(text.bytes)
      case .batch: return try batch(body)
      case .unsupported: break
      }
    } catch { throw HTTPError(error) }
    throw HTTPError(
      415,
      "the content type must be application/json, application/cloudevents+json or application/cloudevents-batch+json")
  }

  private func event(_ text: ByteView) throws(RequestError) -> RPCRequests {
    let worker = owner(of: try parser.value(text))
    return RPCRequests(.init(text: JSONRPCRequest.text(.event, capacity: text.count) { $0.raw(text) }, worker: worker))
  }

  private func batch(_ body: ByteView) throws(RequestError) -> RPCRequests {
    let root = try parser.value(body)
    guard root.kind == .array else { throw .invalidParams(path: "params", "must be an array of events") }
    var requests: [RPCRequests.Request] = []
    var cursor = ElementCursor(root, text: body)
    while let element = cursor.next() {
      guard requests.count < services.context.configuration.limits.inFlight else { throw services.batchTooLong }
      let text = JSONRPCRequest.text(.event, capacity: element.text.count) { $0.raw(element.text) }
      requests.append(.init(text: text, worker: owner(of: element.value)))
    }
    return RPCRequests(array: requests)
  }

  // MARK: Workers

  /// The worker of the subject that an event or a query names.
  private func owner(of object: TapeValue) -> Int {
    object.member("subject")?.string.map { services.worker(for: $0) } ?? nextWorker()
  }

  /// The workers in turn, for requests that any of them can execute.
  private func nextWorker() -> Int {
    lastWorker = (lastWorker + 1) % services.workers.count
    return lastWorker
  }
}
