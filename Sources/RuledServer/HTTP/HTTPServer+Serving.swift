import CMicroHTTPD
import RuledCore
import RuledEngine
import RuledWire

extension HTTPServer {
  /// Why a client that waits for "100 Continue" is not to send its body.
  func refusalBeforeBody(_ exchange: HTTPExchange) -> RequestError? {
    guard exchange.headers["expect"] != nil, let length = exchange.headers["content-length"].flatMap({ Int($0) }),
      length > services.context.configuration.limits.requestBytes
    else { return nil }
    return tooLarge
  }

  private var tooLarge: RequestError {
    RequestError(.tooLarge, "a body may have \(services.context.configuration.limits.requestBytes) bytes at most")
  }

  /// Answers a request that was received whole, or leaves it to the workers.
  func serve(_ exchange: HTTPExchange, on connection: OpaquePointer, peer: HTTPPeer) -> MHD_Result {
    exchange.phase = .waiting
    do throws(HTTPRefusal) {
      let host = try host(of: exchange)
      let isClaimed = services.status.catalog?.claims(host: host) ?? false
      let role = try role(of: exchange, peer, needsToken: isClaimed || exchange.target.path != "/healthz")
      if exchange.isTooLarge { throw HTTPRefusal(tooLarge) }
      if isClaimed {
        try checkFlight()
        callWeb(host, exchange)
        return .YES
      }
      let route = try route(of: exchange)
      try check(route, exchange, peer, role)
      return try serve(route, exchange, on: connection)
    } catch {
      return respond(error.response, to: exchange, on: connection)
    }
  }

  // MARK: Checks

  private func host(of exchange: HTTPExchange) throws(HTTPRefusal) -> String {
    let headers = exchange.headers
    let framings = headers.count("content-length") + headers.count("transfer-encoding")
    let hosts = headers.count("host")
    guard hosts == 1 || (hosts == 0 && !exchange.needsHost), framings <= 1 else {
      var refusal = HTTPRefusal(RequestError(.invalidRequest, "a request has one Host, and one length or encoding"))
      refusal.response.headers.append(("connection", "close"))
      throw refusal
    }
    return HTTPHost.plain(exchange.target.authority ?? exchange.headers["host"] ?? "")
  }

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
        .overloaded, "too many requests are in flight; try again", details: [.init("retry_after_ms", json: "100")]))
  }

  // MARK: Routes

  private func serve(
    _ route: HTTPRoute, _ exchange: HTTPExchange, on connection: OpaquePointer
  ) throws(HTTPRefusal) -> MHD_Result {
    switch route {
    case .health: return respond(HTTPResponse(services.status.health(services)), to: exchange, on: connection)
    case .metrics:
      let text = PrometheusText.make(services)
      return respond(
        HTTPResponse(200, type: "text/plain; version=0.0.4; charset=utf-8", text), to: exchange, on: connection)
    case .dashboard: return respond(Dashboard.response, to: exchange, on: connection)
    case .watch: return try watch(exchange, on: connection)
    default: break
    }
    let calls = try self.calls(route, exchange)
    if calls.calls.isEmpty { return respond(calls.response, to: exchange, on: connection) }
    carryOut(calls, for: exchange)
    return .YES
  }

  private func watch(_ exchange: HTTPExchange, on connection: OpaquePointer) throws(HTTPRefusal) -> MHD_Result {
    let cursor: WatchCursor
    do throws(RequestError) {
      var members = RequestText.members(of: exchange.target, for: .watch)
      if let last = exchange.headers["last-event-id"], !last.isEmpty { members["after"] = RequestText.number(last) }
      let text = try RequestText.make(.watch, members)
      let params = text.withUnsafeBytes { bytes in Result { () throws(RequestError) in try watchParams(bytes) } }
      cursor = WatchCursor(try params.get(), hub: services.hub)
    } catch { throw HTTPRefusal(error) }
    if exchange.method == "HEAD" {
      return respond(HTTPResponse(200, type: "text/event-stream", []), to: exchange, on: connection)
    }
    exchange.phase = .answered
    let stream = EventStream(cursor, hub: services.hub, exchange: exchange)
    began(stream, for: exchange)
    let response = ruled_http_stream(httpReadStream, Unmanaged.passRetained(stream).toOpaque(), httpReleaseStream)
    MHD_add_response_header(response, "content-type", "text/event-stream")
    MHD_add_response_header(response, "cache-control", "no-store")
    MHD_add_response_header(response, "connection", "close")
    defer { MHD_destroy_response(response) }
    return MHD_queue_response(connection, 200, response)
  }

  private func watchParams(_ text: UnsafeRawBufferPointer) throws(RequestError) -> WatchParams {
    guard case .single(.request(let request)) = parser.parse(text) else {
      throw RequestError(.invalidRequest, "the parameters can't be read")
    }
    return try WatchParams(request)
  }

  // MARK: Responding

  /// Hands a response to the connection.
  func respond(_ whole: HTTPResponse, to exchange: HTTPExchange, on connection: OpaquePointer) -> MHD_Result {
    exchange.phase = .answered
    let response = whole.body.withUnsafeBytes { body in
      ruled_http_response(body.baseAddress, body.count)
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    for (name, value) in whole.headers { MHD_add_response_header(response, name, value) }
    if isDraining { MHD_add_response_header(response, "connection", "close") }
    return MHD_queue_response(connection, UInt32(whole.status), response)
  }
}
