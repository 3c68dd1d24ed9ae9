import RuledCore
import RuledEngine
import RuledJSON
import TestSupport
import Testing

@testable import RuledServing

@Suite struct DashboardTests {
  private static func cookie(_ answer: HTTPClient.Response?) -> String {
    answer?.headers["set-cookie"]?.split(separator: ";").first.map(String.init) ?? ""
  }

  /// A cookie for a session with a role.
  private static func session(_ rig: ServerRig, _ client: HTTPClient, _ role: Role = .admin) -> String {
    let token = rig.services.sessions.issue(role, now: EngineClock.monotonic)
    return cookie(client.ask("GET", "/?token=\(token)"))
  }

  @Test func `an administrator on the socket gets a token that opens one session`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let socket = rig.client()
    socket.send(#"{"jsonrpc":"2.0","id":1,"method":"dashboard","params":{"role":"reader"}}"# + "\n")
    let link = try JSONValue(parsing: socket.receive(lines: 1))["result"]
    let path = try #require(link?["path"]?.stringValue)
    #expect(link?["role"] == "reader" && link?["listen"] == .null)
    let client = HTTPClient(try rig.loopbackClient())
    #expect(client.ask("HEAD", path)?.status == 401)
    let opened = client.ask("GET", path)
    #expect(opened?.status == 303 && opened?.headers["location"] == "/")
    let attributes = opened?.headers["set-cookie"] ?? ""
    for attribute in ["Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=43200"] {
      #expect(attributes.contains(attribute))
    }
    #expect(client.ask("GET", path)?.status == 401)
    let cookie = ["Cookie": Self.cookie(opened)]
    #expect(client.ask("GET", "/v1/rules", nil, cookie)?.status == 200)
    #expect(client.ask("GET", "/v1/rules", nil, ["Cookie": "ruled-80=0000"])?.status == 401)
    let own = cookie.merging(["ruled-dashboard": "1"]) { $1 }
    #expect(client.ask("POST", "/v1/rules/reload", "{}", own)?.status == 403)
  }

  @Test func `a session ends when its browser asks for it`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let (ended, other) = (["Cookie": Self.session(rig, client, .reader)], ["Cookie": Self.session(rig, client)])
    let fromPage = ended.merging(["ruled-dashboard": "1"]) { $1 }
    #expect(client.ask("DELETE", "/v1/session", nil, ended)?.status == 403)
    let answer = client.ask("DELETE", "/v1/session", nil, fromPage)
    #expect(answer?.status == 200 && answer?.headers["set-cookie"]?.contains("Max-Age=0") == true)
    #expect(client.ask("GET", "/v1/rules", nil, ended)?.status == 401)
    #expect(client.ask("GET", "/v1/rules", nil, other)?.status == 200)
    #expect(client.ask("DELETE", "/v1/session", nil, ["Authorization": "Bearer secret"])?.status == 404)
  }

  @Test func `a watch ends with the session or the token that it began with, and others go on`() throws {
    let rig = try ServerRig(token: "secret") { $0.http.role = .writer }
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let (ended, other) = (["Cookie": Self.session(rig, client, .writer)], ["Cookie": Self.session(rig, client)])
    let streams = try [ended, other, ["Authorization": "Bearer secret"]].map { headers in
      let stream = HTTPClient(try rig.loopbackClient())
      stream.send("GET", "/v1/watch", nil, headers)
      #expect(stream.fields()["content-type"] == "text/event-stream")
      return stream
    }
    #expect(client.ask("DELETE", "/v1/session", nil, ended.merging(["ruled-dashboard": "1"]) { $1 })?.status == 200)
    let socket = HTTPClient(rig.client())
    func count(_ number: Int) { _ = socket.ask("POST", "/v1/events", #"{"type":"n","subject":"s\#(number)"}"#) }
    count(1)
    #expect(streams.map { $0.streamLines(3).count } == [0, 3, 3])
    rig.folder.write("token", "another")
    rig.services.rereadToken()
    count(2)
    #expect(streams[1...].map { $0.streamLines(3).count } == [3, 0])
  }

  @Test func `a request by cookie that changes something comes from the page`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let cookie = ["Cookie": "a=b; " + Self.session(rig, client)]
    func send(_ headers: [String: String]) -> Int? {
      client.ask("POST", "/v1/events", #"{"type":"n","subject":"s"}"#, cookie.merging(headers) { $1 })?.status
    }
    #expect(send([:]) == 403)
    #expect(send(["Origin": "http://localhost"]) == 403)
    #expect(send(["ruled-dashboard": "1", "Origin": "http://localhost:81"]) == 403)
    #expect(send(["ruled-dashboard": "1", "Origin": "null"]) == 403)
    #expect(send(["ruled-dashboard": "1", "Origin": "http://localhost"]) == 200)
    #expect(send(["ruled-dashboard": "1"]) == 200)
    #expect(client.ask("GET", "/v1/subjects/s", nil, cookie)?.json?["version"] == 2)
  }

  @Test func `the page loads nothing from others and stands in no frame`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let cookie = ["Cookie": Self.session(rig, client, .reader)]
    for (path, type) in [
      ("/", "text/html"), ("/dashboard/app.js", "text/javascript"), ("/dashboard/style.css", "text/css"),
      ("/dashboard/icon.svg", "image/svg+xml"),
    ] {
      let answer = client.ask("GET", path, nil, cookie)
      #expect(answer?.status == 200 && answer?.headers["content-type"]?.hasPrefix(type) == true, "\(path)")
      let policy = answer?.headers["content-security-policy"] ?? ""
      #expect(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"))
      #expect(!policy.contains("unsafe") && answer?.headers["x-content-type-options"] == "nosniff")
    }
    for path in [
      "/dashboard/../Package.js", "/dashboard/%2e%2e%2fapp.js", "/dashboard/none.js", "/dashboard/app.swift",
    ] {
      #expect(client.ask("GET", path, nil, cookie)?.status == 404, "\(path)")
    }
    #expect(client.ask("GET", "/dashboard/app.js")?.status == 401)
    let locked = client.ask("GET", "/", nil, ["Accept": "text/html"])
    #expect(locked?.status == 401 && locked?.body.contains("rulectl dashboard") == true)
    #expect(client.ask("GET", "/")?.json?["data"]?["code"] == "forbidden")
    #expect(client.ask("GET", "/", nil, ["Authorization": "Bearer secret"])?.status == 200)
  }

  @Test func `who comes through a proxy on the socket does not have the proxy's rights`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    for start in ["PROXY UNKNOWN\r\n", "PROXY TCP4 127.0.0.1 127.0.0.1 50000 80\r\n"] {
      let client = HTTPClient(rig.client())
      for byte in start { client.client.send(String(byte)) }
      #expect(client.ask("GET", "/v1/rules")?.status == 401)
      #expect(client.ask("GET", "/healthz")?.status == 200)
      let cookie = ["Cookie": Self.session(rig, client, .reader)]
      #expect(client.ask("GET", "/v1/rules", nil, cookie)?.status == 200)
      #expect(client.ask("GET", "/v1/rules")?.status == 401)
    }
    let long = HTTPClient(rig.client())
    long.client.send("PROXY " + String(repeating: "x", count: 200) + "\r\nGET /v1/rules HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(long.receive()?.status == 400)
    #expect(HTTPClient(rig.client()).ask("GET", "/v1/rules")?.status == 200)
    #expect(HTTPClient(rig.client()).ask("PROPFIND", "/v1/rules")?.status == 405)
  }

  @Test func `tokens and sessions end by their time and by their number`() {
    let sessions = DashboardSessions()
    let second: UInt64 = 1_000_000_000
    let old = sessions.issue(.admin, now: 0)
    #expect(sessions.redeem(old, now: UInt64(DashboardSessions.tokenSeconds) * second) == nil)
    #expect(sessions.redeem("", now: 0) == nil)
    let first = sessions.issue(.admin, now: 0)
    for _ in 0..<DashboardSessions.tokenLimit { _ = sessions.issue(.admin, now: 0) }
    #expect(sessions.redeem(first, now: 0) == nil)
    let secrets = (0...DashboardSessions.sessionLimit).compactMap { _ in
      sessions.redeem(sessions.issue(.writer, now: 0), now: 0)
    }
    #expect(Set(secrets).count == DashboardSessions.sessionLimit + 1)
    #expect(sessions.role(of: secrets[0], now: 1) == nil)
    #expect(sessions.role(of: secrets[1], now: 1) == .writer)
    #expect(sessions.role(of: secrets[1], now: UInt64(DashboardSessions.sessionSeconds) * second) == nil)
  }
}
