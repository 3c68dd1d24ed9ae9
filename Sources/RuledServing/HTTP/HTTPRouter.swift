import RuledCore
import RuledEngine
import RuledIO
package import RuledWire

/// Checks complete HTTP requests, answers those that need no worker, and turns the others into JSON-RPC requests; confined to the
/// server's thread.
final class HTTPRouter {
  unowned let server: HTTPServer
  let services: Services
  let parser = RequestParser()
  /// The parser of whole requests, each of which has a body within it.
  let wholeParser = RequestParser.ofHTTP()
  var lastWorker = 0

  init(_ server: HTTPServer) {
    self.server = server
    services = server.services
  }

  func route(_ exchange: HTTPExchange, on connection: HTTPConnection) {
    do throws(HTTPError) {
      let destination = try destination(of: exchange)
      if destination.route?.endpoint == .dashboard, let response = openSession(exchange) {
        return connection.respond(response)
      }
      try check(exchange, for: destination)
      guard let route = destination.route else {
        return server.callWebHandler(of: destination.host, for: exchange, on: nextWorker())
      }
      try answer(route, exchange, on: connection)
    } catch {
      if error.status == 401, Self.wantsPage(exchange) { return connection.respond(lockedPage()) }
      connection.respond(HTTPResponse(error))
    }
  }

  // MARK: Checks

  private typealias Destination = (host: String, isClaimed: Bool, route: HTTPRoute?)

  /// Refuses a request of which nothing but the head matters for that.
  func checkHead(_ exchange: HTTPExchange) throws(HTTPError) { try check(exchange, for: destination(of: exchange)) }

  /// The host that a request is for, and the route unless a plugin claims the host.
  private func destination(of exchange: HTTPExchange) throws(HTTPError) -> Destination {
    let host = HostName.normalized(exchange.target.authority ?? exchange.headers["host"] ?? "")
    let isClaimed = services.status.catalog?.claims(host: host) ?? false
    if exchange.peer.isVisitor, !isClaimed { throw Self.unknownHost }
    return (host, isClaimed, isClaimed ? nil : HTTPRoute(exchange.target))
  }

  private func check(_ exchange: HTTPExchange, for destination: Destination) throws(HTTPError) {
    let role = try role(of: exchange, needsToken: destination.route?.endpoint.isForProbes != true)
    exchange.authorize(role)
    if exchange.isTooLarge { throw tooLarge }
    guard exchange.headers.isPlainBody else { throw Self.encodedBody }
    if destination.isClaimed { return try checkInFlight(exchange.peer) }
    guard let endpoint = destination.route?.endpoint else { throw Self.unknownPath }
    try checkMethod(of: exchange, endpoint)
    try authorize(endpoint, exchange, role)
    try checkParameters(of: exchange, endpoint)
  }

  private var tooLarge: HTTPError {
    HTTPError(.tooLarge, "a body may have \(services.context.configuration.limits.requestBytes) bytes at most")
  }

  /// The role of the bearer token's holder, or of the browser's session; nil where the kernel's credentials of the peer decide.
  private func role(of exchange: HTTPExchange, needsToken: Bool) throws(HTTPError) -> Role? {
    guard exchange.peer.isAnonymous, !exchange.peer.isVisitor else { return nil }
    if let token = services.bearerToken, token.matches(authorization: exchange.headers["authorization"]) {
      return services.context.configuration.http.role
    }
    if let role = try sessionRole(of: exchange) { return role }
    guard needsToken else { return .reader }
    throw .wrongToken
  }

  /// Tells later whether the token or the session of a request is still in force; it keeps nothing else of the request.
  private func right(of exchange: HTTPExchange) -> () -> Bool {
    guard exchange.peer.isAnonymous else { return { true } }
    if let token = services.bearerToken {
      let digest = token.digest
      if token.matches(authorization: exchange.headers["authorization"]) { return { token.digest == digest } }
    }
    let (session, sessions) = (Self.session(of: exchange) ?? "", services.sessions)
    return { sessions.role(of: session, now: EngineClock.monotonic) != nil }
  }

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
        throw HTTPError(.forbidden, "the token's role is \(role.rawValue), this needs \(needed.rawValue)")
      }
    } else if !endpoint.isOpen, !exchange.peer.isAdmin {
      throw .notAllowed
    }
    if !endpoint.isForProbes, endpoint != .metrics { try checkInFlight(exchange.peer) }
  }

  /// Refuses a query string with a name that the endpoint does not read, or one that is there twice.
  private func checkParameters(of exchange: HTTPExchange, _ endpoint: HTTPEndpoint) throws(HTTPError) {
    let parameters = exchange.target.formParameters
    guard !parameters.isEmpty else { return }
    let known = endpoint.parameters(exchange.method)
    if let unknown = parameters.first(where: { !known.contains($0.name) })?.name {
      throw HTTPError(unknown.withView { .unknownMember($0, of: "params", known: known) })
    }
    guard let repeated = exchange.target.repeatedParameter else { return }
    throw HTTPError(.invalidParams(path: "params.\(repeated)", "is in the query string twice"))
  }

  private func checkInFlight(_ peer: ClientAccess) throws(HTTPError) {
    if let error = services.overload(isReserved: peer.isAdmin, adding: 1) { throw HTTPError(error) }
  }

  private static let encodedBody = HTTPError(
    RequestError(.invalidRequest, "a compressed body is not read: send it without Content-Encoding"), status: 415,
    headers: [.init(name: "accept-encoding", value: "identity")])

  private static let unknownHost = HTTPError(.notFound, "there is nothing at this host")

  static let unknownPath = HTTPError(.unknownMethod, "there is nothing at this path")

  // MARK: Routes

  private func answer(_ route: HTTPRoute, _ exchange: HTTPExchange, on connection: HTTPConnection) throws(HTTPError) {
    switch route.endpoint {
    case .health: return connection.respond(HTTPResponse(HealthReport(services).json))
    case .alive: return connection.respond(HTTPResponse(["status": "alive"]))
    case .ready: return connection.respond(readiness)
    case .metrics: return connection.respond(HTTPResponse(200, type: MetricsWriter.contentType, metrics))
    case .openapi: return connection.respond(HTTPResponse(200, json: OpenAPIDocument.json))
    case .dashboard, .dashboardFile: return connection.respond(try dashboard(route))
    case .session: return connection.respond(try closeSession(exchange))
    case .watch: return try watch(exchange, on: connection)
    default: break
    }
    let requests = try requests(route, exchange)
    if requests.requests.isEmpty { return connection.respond(requests.response) }
    guard requests.usedBytes <= HTTPServer.smallRequest || server.hasRoom else { throw HTTPServer.noRoom }
    server.execute(requests, for: exchange)
  }

  private var metrics: [UInt8] { DaemonMetrics.text(services, server.commits, webBytes: server.usedBytes) }

  /// Whether the daemon should get requests; a status other than 200 says why it should not.
  private var readiness: HTTPResponse {
    if server.isDraining {
      return HTTPResponse(["status": "stopping", "problems": ["the daemon is shutting down"]], status: 503)
    }
    let health = HealthReport(services).json
    let status = health["status"] ?? .null
    guard status != "ready" else { return HTTPResponse(["status": status]) }
    return HTTPResponse(["status": status, "problems": health["problems"] ?? []], status: 503)
  }

  private func watch(_ exchange: HTTPExchange, on connection: HTTPConnection) throws(HTTPError) {
    do throws(RequestError) {
      var members = JSONRPCRequest.params(of: exchange.target, for: .watch)
      if let last = exchange.headers["last-event-id"], !last.isEmpty { members["after"] = JSONRPCRequest.number(last) }
      let text = JSONRPCRequest.text(.watch, members)
      let params = try text.withView { bytes in Result { () throws(RequestError) in try watchParams(bytes) } }.get()
      if exchange.method == "HEAD" { return connection.respond(HTTPResponse(200, type: "text/event-stream", [])) }
      try services.checkRead()
      try connection.beginStream(params, while: right(of: exchange))
    } catch { throw HTTPError(error) }
  }

  private func watchParams(_ text: ByteView) throws(RequestError) -> WatchParams {
    guard case .single(.request(let request)) = parser.parseRequest(text) else {
      throw RequestError(.invalidRequest, "the parameters can't be read")
    }
    return try WatchParams(request)
  }
}

extension HTTPError {
  package static let wrongToken = HTTPError(
    RequestError(.forbidden, "the bearer token is missing or wrong"), status: 401,
    headers: [.init(name: "www-authenticate", value: "Bearer realm=\"ruled\"")])

  package static let notAllowed = HTTPError(
    .forbidden, "only root, the daemon's own user and the configured admins may call this")
}
