import RuledCore
import RuledEngine
import RuledWire

/// The dashboard's page and the sessions of the browsers that show it.
extension HTTPRouter {
  /// The request header by which the page's script shows that it sent a request; a form or a link of another site can't send it.
  private static let scriptHeader = "ruled-dashboard"

  /// The role of the session that a request's cookie names; nil without one.
  ///
  /// A change must come from the page's script: the browser also sends the cookie with requests of other pages on this host.
  func sessionRole(of exchange: HTTPExchange) throws(HTTPError) -> Role? {
    guard let session = Self.session(of: exchange),
      let role = services.sessions.role(of: session, now: EngineClock.monotonic)
    else { return nil }
    if exchange.method == "GET" || exchange.method == "HEAD" { return role }
    let (host, origin) = (Self.host(exchange), exchange.headers["origin"])
    let isSameOrigin = origin == nil || origin == "http://\(host)" || origin == "https://\(host)"
    guard isSameOrigin, exchange.headers[Self.scriptHeader] != nil else {
      throw HTTPError(
        .forbidden,
        "a request with the dashboard's cookie must come from its page, with the header \(Self.scriptHeader)")
    }
    return role
  }

  /// The response to a link with a token that works once: it sets the session's cookie and leads to the page without the token.
  func openSession(_ exchange: HTTPExchange) -> HTTPResponse? {
    guard exchange.method == "GET", let token = exchange.target.parameters.first(where: { $0.name == "token" })?.value
    else { return nil }
    guard let session = services.sessions.redeem(token, now: EngineClock.monotonic) else { return lockedPage() }
    var response = HTTPResponse(303, type: "text/plain; charset=utf-8", [])
    response.headers += [
      ("location", "/"), ("referrer-policy", "no-referrer"),
      Self.cookie(session, seconds: DashboardSessions.sessionSeconds, exchange),
    ]
    return response
  }

  /// Ends the session that a request's cookie names, and has the browser forget the cookie.
  func closeSession(_ exchange: HTTPExchange) throws(HTTPError) -> HTTPResponse {
    guard let session = Self.session(of: exchange), services.sessions.end(session) else {
      throw HTTPError(.notFound, "the request's cookie names no session")
    }
    server.checkStreams()
    var response = HTTPResponse(["ended": true])
    response.headers.append(Self.cookie("", seconds: 0, exchange))
    return response
  }

  /// The page that tells a browser without a session how to get one; plain text if it is not there.
  func lockedPage() -> HTTPResponse {
    var response =
      server.dashboard.file("locked.html")
      ?? HTTPResponse(
        401, type: "text/plain; charset=utf-8", Array("This page needs a session: run 'rulectl dashboard'.\n".utf8))
    response.status = 401
    return response
  }

  /// Whether a client asks for a page to show to a person.
  static func wantsPage(_ exchange: HTTPExchange) -> Bool {
    exchange.headers["authorization"] == nil && acceptsPage(exchange)
  }

  /// Whether a client takes a page for an answer.
  static func acceptsPage(_ exchange: HTTPExchange) -> Bool {
    exchange.headers["accept"]?.contains("text/html") == true
  }

  func dashboard(_ route: HTTPRoute) throws(HTTPError) -> HTTPResponse {
    let name = route.endpoint == .dashboard ? "index.html" : route.item
    if let response = server.dashboard.file(name) { return response }
    guard server.dashboard.folder != nil else {
      throw HTTPError(
        .notFound, "the dashboard's files are not installed; they belong into share/ruled/dashboard beside bin/ruled")
    }
    throw HTTPError(.notFound, "the dashboard has no such file")
  }

  private static func host(_ exchange: HTTPExchange) -> String {
    exchange.target.authority ?? exchange.headers["host"] ?? ""
  }

  /// The cookie's name, which holds the port: cookies are shared by all ports of a host, and each may be another daemon.
  private static func cookieName(_ exchange: HTTPExchange) -> String {
    let port = host(exchange).split(separator: ":").last.flatMap { UInt16($0) } ?? 80
    return "ruled-\(port)"
  }

  private static func cookie(_ session: String, seconds: Int, _ exchange: HTTPExchange) -> (name: String, value: String)
  {
    ("set-cookie", "\(cookieName(exchange))=\(session); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict")
  }

  static func session(of exchange: HTTPExchange) -> String? {
    let start = "\(cookieName(exchange))="
    for cookie in (exchange.headers["cookie"] ?? "").split(separator: ";") {
      let cookie = cookie.drop { $0 == " " }
      if cookie.hasPrefix(start) { return String(cookie.dropFirst(start.count)) }
    }
    return nil
  }
}
