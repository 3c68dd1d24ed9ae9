import RuledCore
import RuledEngine
import RuledWire

extension HTTPServer {
  private var tooLarge: RequestError {
    RequestError(.tooLarge, "a body may have \(services.context.configuration.limits.requestBytes) bytes at most")
  }

  /// Answers a request that was received whole, or leaves it to the workers.
  func serve(_ exchange: HTTPExchange, on connection: HTTPConnection) {
    let peer = exchange.peer
    do throws(HTTPRefusal) {
      let host = HTTPHost.plain(exchange.target.authority ?? exchange.headers["host"] ?? "")
      let isClaimed = services.status.catalog?.claims(host: host) ?? false
      let role = try role(of: exchange, peer, needsToken: isClaimed || exchange.target.path != "/healthz")
      if exchange.isTooLarge { throw HTTPRefusal(tooLarge) }
      if isClaimed {
        try checkFlight()
        return callWeb(host, exchange)
      }
      let route = try route(of: exchange)
      try check(route, exchange, peer, role)
      try serve(route, exchange, on: connection)
    } catch {
      connection.respond(error.response)
    }
  }

  // MARK: Checks

  /// What the token's holder may do; nil where the peer's credentials decide.
  private func role(of exchange: HTTPExchange, _ peer: HTTPPeer, needsToken: Bool) throws(HTTPRefusal) -> Role? {
    guard peer.isLoopback else { return nil }
    if let token, token.isIn(exchange.headers["authorization"]) { return services.context.configuration.http.role }
    guard !needsToken else {
      var refusal = HTTPRefusal(RequestError(.forbidden, "the bearer token is missing or wrong"), status: 401)
      refusal.response.headers.append(("www-authenticate", "Bearer realm=\"ruled\""))
      throw refusal
    }
    return .reader
  }

  private func route(of exchange: HTTPExchange) throws(HTTPRefusal) -> HTTPRoute {
    guard let route = HTTPRoute(exchange.target) else {
      throw HTTPRefusal(RequestError(.unknownMethod, "there is nothing at this path"))
    }
    guard route.methods.contains(exchange.method) else {
      let allowed = route.methods.joined(separator: ", ")
      var refusal = HTTPRefusal(RequestError(.unknownMethod, "this path takes \(allowed)"), status: 405)
      refusal.response.headers.append(("allow", allowed))
      throw refusal
    }
    return route
  }

  private func check(
    _ route: HTTPRoute, _ exchange: HTTPExchange, _ peer: HTTPPeer, _ role: Role?
  ) throws(HTTPRefusal) {
    if let role {
      if let needed = route.role(exchange.method), role < needed {
        throw HTTPRefusal(
          RequestError(.forbidden, "the token's role is \(role.rawValue), this needs \(needed.rawValue)"))
      }
    } else if !route.isOpen, !peer.isAdmin {
      throw HTTPRefusal(
        RequestError(.forbidden, "only root, the daemon's own user and the configured admins may call this"))
    }
    if route != .health, route != .metrics { try checkFlight() }
  }

  private func checkFlight() throws(HTTPRefusal) {
    guard services.inFlight.load(ordering: .relaxed) > services.context.configuration.limits.inFlight else { return }
    throw HTTPRefusal(
      RequestError(
        .overloaded, "too many requests are in flight; try again", details: [.init("retry_after_ms", 100)]))
  }

  // MARK: Routes

  private func serve(
    _ route: HTTPRoute, _ exchange: HTTPExchange, on connection: HTTPConnection
  ) throws(HTTPRefusal) {
    switch route {
    case .health: return connection.respond(HTTPResponse(services.status.health(services)))
    case .metrics:
      let text = PrometheusText.make(services)
      return connection.respond(HTTPResponse(200, type: "text/plain; version=0.0.4; charset=utf-8", text))
    case .dashboard: return connection.respond(Dashboard.response)
    case .watch: return try watch(exchange, on: connection)
    default: break
    }
    let calls = try self.calls(route, exchange)
    if calls.calls.isEmpty { return connection.respond(calls.response) }
    guard calls.heldBytes <= Self.smallRequestBytes || hasRoom else { throw HTTPRefusal(Self.noRoom.error) }
    carryOut(calls, for: exchange)
  }

  private func watch(_ exchange: HTTPExchange, on connection: HTTPConnection) throws(HTTPRefusal) {
    let cursor: WatchCursor
    do throws(RequestError) {
      var members = RequestText.members(of: exchange.target, for: .watch)
      if let last = exchange.headers["last-event-id"], !last.isEmpty { members["after"] = RequestText.number(last) }
      let text = try RequestText.make(.watch, members)
      let params = text.withUnsafeBytes { bytes in Result { () throws(RequestError) in try watchParams(bytes) } }
      cursor = WatchCursor(try params.get(), hub: services.hub)
    } catch { throw HTTPRefusal(error) }
    if exchange.method == "HEAD" { return connection.respond(HTTPResponse(200, type: "text/event-stream", [])) }
    connection.begin(cursor)
  }

  private func watchParams(_ text: UnsafeRawBufferPointer) throws(RequestError) -> WatchParams {
    guard case .single(.request(let request)) = parser.parse(text) else {
      throw RequestError(.invalidRequest, "the parameters can't be read")
    }
    return try WatchParams(request)
  }
}
