import RuledCore
import RuledEngine
import RuledLua
import RuledStore
import RuledWire
import Synchronization

/// The dashboard's page and the sessions of the browsers that show it.
extension HTTPRouter {
  /// The request header by which the page's script shows that it sent a request; a form or a link of another site can't send it.
  private static let scriptHeader = "ruled-dashboard"

  /// The role of the session that a request's cookie names; nil without one.
  ///
  /// A request that changes something must come from the page's script: a cookie alone is sent with what other pages on this host send, too.
  func sessionRole(of exchange: HTTPExchange) throws(HTTPError) -> Role? {
    guard let session = Self.session(of: exchange),
      let role = services.sessions.role(of: session, now: EngineClock.monotonic)
    else { return nil }
    if exchange.method == "GET" || exchange.method == "HEAD" { return role }
    let origin = exchange.headers["origin"]
    let isSameOrigin = origin == nil || origin == "http://\(host(exchange))" || origin == "https://\(host(exchange))"
    guard isSameOrigin, exchange.headers[Self.scriptHeader] != nil else {
      throw HTTPError(
        RequestError(
          .forbidden,
          "a request with the dashboard's cookie must come from its page, with the header \(Self.scriptHeader)"))
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
      throw HTTPError(RequestError(.notFound, "the request's cookie names no session"))
    }
    var response = HTTPResponse(["ended": true])
    response.headers.append(Self.cookie("", seconds: 0, exchange))
    return response
  }

  /// The page that tells a browser without a session how to get one; plain text if it is not there.
  func lockedPage() -> HTTPResponse {
    var response =
      services.dashboard.file("locked.html")
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

  /// The page, or one of its files.
  func dashboard(_ route: HTTPRoute) throws(HTTPError) -> HTTPResponse {
    let name = route.endpoint == .dashboard ? "index.html" : route.item
    if let response = services.dashboard.file(name) { return response }
    guard services.dashboard.folder != nil else {
      throw HTTPError(
        RequestError(
          .notFound, "the dashboard's files are not installed; they belong into share/ruled/dashboard beside bin/ruled")
      )
    }
    throw HTTPError(RequestError(.notFound, "the dashboard has no such file"))
  }

  // MARK: Cookies

  private func host(_ exchange: HTTPExchange) -> String { exchange.target.authority ?? exchange.headers["host"] ?? "" }

  /// The cookie's name, which holds the port: cookies are shared by all ports of a host, and each may be another daemon.
  private static func cookieName(_ exchange: HTTPExchange) -> String {
    let host = exchange.target.authority ?? exchange.headers["host"] ?? ""
    let port = host.split(separator: ":").last.flatMap { UInt16($0) } ?? 80
    return "ruled-\(port)"
  }

  /// The header that sets the session's cookie.
  private static func cookie(_ session: String, seconds: Int, _ exchange: HTTPExchange) -> (name: String, value: String)
  {
    (
      "set-cookie",
      "\(cookieName(exchange))=\(session); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
    )
  }

  /// The session that a request's cookie names.
  private static func session(of exchange: HTTPExchange) -> String? {
    let start = "\(cookieName(exchange))="
    for cookie in (exchange.headers["cookie"] ?? "").split(separator: ";") {
      let cookie = cookie.drop { $0 == " " }
      if cookie.hasPrefix(start) { return String(cookie.dropFirst(start.count)) }
    }
    return nil
  }
}

/// Who may use the dashboard in a browser, which can't send a bearer token: tokens that work once, and the sessions that they became.
///
/// Only digests of the secrets are kept, in memory: a restart ends every session.
final class DashboardSessions: Sendable {
  /// How long a token can be used, in seconds.
  static let tokenSeconds = 120
  /// How long a session lasts, in seconds.
  static let sessionSeconds = 12 * 3600
  /// How many tokens may wait for their use; a further one replaces the oldest.
  static let tokenLimit = 16
  /// How many sessions there may be; a further one ends the oldest.
  static let sessionLimit = 32

  /// What the holder of a secret may do, and until when.
  private struct Grant {
    let digest: SHA256.Digest
    let role: Role
    /// In nanoseconds of the monotonic clock.
    let end: UInt64
  }

  private struct Grants {
    var tokens: [Grant] = []
    var sessions: [Grant] = []
  }

  private let grants = Mutex(Grants())

  /// No tokens and no sessions.
  init() {}

  /// A token that can be redeemed once for a session with that role; `now` is in nanoseconds of the monotonic clock.
  func issue(_ role: Role, now: UInt64) -> String {
    let token = Self.secret()
    let grant = Self.grant(token, role, seconds: Self.tokenSeconds, now)
    grants.withLock { Self.add(grant, to: &$0.tokens, limit: Self.tokenLimit, now) }
    return token
  }

  /// Turns a token into a session, of which it returns the secret; nil for one that is unknown, used or too old.
  func redeem(_ token: String, now: UInt64) -> String? {
    let digest = SHA256.hash(token)
    return grants.withLock { grants in
      guard let index = grants.tokens.firstIndex(where: { $0.digest == digest }) else { return nil }
      let found = grants.tokens.remove(at: index)
      guard found.end > now else { return nil }
      let session = Self.secret()
      let grant = Self.grant(session, found.role, seconds: Self.sessionSeconds, now)
      Self.add(grant, to: &grants.sessions, limit: Self.sessionLimit, now)
      return session
    }
  }

  /// The role of a session; nil for one that is unknown or over.
  func role(of session: String, now: UInt64) -> Role? {
    let digest = SHA256.hash(session)
    return grants.withLock { grants in grants.sessions.first { $0.digest == digest && $0.end > now }?.role }
  }

  /// Ends a session; false for one that is unknown.
  func end(_ session: String) -> Bool {
    let digest = SHA256.hash(session)
    return grants.withLock { grants in
      let before = grants.sessions.count
      grants.sessions.removeAll { $0.digest == digest }
      return grants.sessions.count < before
    }
  }

  private static func grant(_ secret: String, _ role: Role, seconds: Int, _ now: UInt64) -> Grant {
    Grant(digest: SHA256.hash(secret), role: role, end: now + UInt64(seconds) * 1_000_000_000)
  }

  private static func add(_ grant: Grant, to list: inout [Grant], limit: Int, _ now: UInt64) {
    list.removeAll { $0.end <= now }
    if list.count >= limit { list.removeFirst(list.count - limit + 1) }
    list.append(grant)
  }

  /// 256 bits from the kernel in hexadecimal digits.
  private static func secret() -> String {
    var random = SystemRandomNumberGenerator()
    let buffer = ByteBuffer(capacity: 64)
    for _ in 0..<4 {
      let bits = random.next()
      for shift in stride(from: 60, through: 0, by: -4) { buffer.append(hexDigit: UInt8(bits >> UInt64(shift) & 15)) }
    }
    return buffer.text
  }
}

/// The files of the dashboard's page: HTML, CSS and JavaScript modules in one folder, and Chart.js, which Debian packages.
///
/// They are read for each request, so that an edited file is served at once.
struct DashboardFiles: Sendable {
  /// The largest file that is served, in bytes.
  private static let maximumBytes = 1 << 20
  /// Where the package libjs-chart.js puts Chart.js.
  private static let packagedChart = "/usr/share/javascript/chart.js/chart.min.js"

  /// The page's folder; nil if there is none.
  let folder: String?

  /// The files in a folder.
  init(folder: String?) { self.folder = folder }

  /// The files beside the running program: `share/ruled/dashboard` under the prefix that it is installed in, or `dashboard` in the source
  /// tree that it was built in.
  static func besideProgram() -> DashboardFiles {
    DashboardFiles(
      folder: ProgramFolder.find(installed: "share/ruled/dashboard", inSources: "dashboard", with: "index.html"))
  }

  /// A file of the page by its name; nil if there is none.
  func file(_ name: String) -> HTTPResponse? {
    guard let type = Self.contentType(name), let folder else { return nil }
    var body = try? RegularFile.read("\(folder)/\(name)", limit: Self.maximumBytes)
    if body == nil, name == "chart.js" { body = try? RegularFile.read(Self.packagedChart, limit: Self.maximumBytes) }
    guard let body else { return nil }
    var response = HTTPResponse(200, type: type, body)
    response.headers += Self.protection
    return response
  }

  /// The content type of a file, by the end of its name; nil for a name that no file of the page has.
  private static func contentType(_ name: String) -> String? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty,
      parts[0].utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") })
    else { return nil }
    switch parts[1] {
    case "html": return "text/html; charset=utf-8"
    case "css": return "text/css; charset=utf-8"
    case "js": return "text/javascript; charset=utf-8"
    case "svg": return "image/svg+xml"
    default: return nil
    }
  }

  /// What keeps a browser from running or loading anything but the page's own files, and others from showing it in a frame.
  private static let protection: [(name: String, value: String)] = [
    (
      "content-security-policy",
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"), ("cross-origin-opener-policy", "same-origin"),
  ]
}
