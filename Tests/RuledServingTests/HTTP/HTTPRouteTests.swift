import RuledCore
import RuledStore
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

@Suite struct HTTPRouteTests {
  @Test func `the API shows and erases a subject`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    _ = client.ask("POST", "/v1/events", #"{"type":"n","subject":"a/b c"}"#)
    #expect(client.ask("GET", "/v1/subjects?prefix=a")?.json?["subjects"] == .array([.string("a/b c")]))
    #expect(client.ask("GET", "/v1/subjects/a%2Fb%20c")?.json?["plugins"]?["p"]?["n"] == .integer(1))
    #expect(client.ask("GET", "/v1/subjects/a%2Fb%20c/export")?.json?["version"] == .integer(1))
    let query = client.ask("POST", "/v1/query/p.n", #"{"subject":"a/b c","args":{"x":[1]}}"#)
    #expect(query?.body == #"{"args":{"x":[1]},"n":1}"#)
    #expect(client.ask("DELETE", "/v1/subjects/a%2Fb%20c")?.json?["forgotten"]?["state"] == .integer(1))
    #expect(client.ask("GET", "/v1/subjects/a%2Fb%20c")?.status == 404)
  }

  @Test func `a counter shows each event that was answered, whichever worker reads it`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    for number in 1...40 {
      _ = client.ask("POST", "/v1/events", #"{"type":"tell","subject":"s\#(number)"}"#)
      #expect(client.ask("GET", "/v1/counters")?.json?[0]?["value"] == .integer(Int64(number)))
    }
  }

  @Test func `health lists the plugins that have used up their counters`() throws {
    let rig = try ServerRig { $0.limits.counters = 2 }
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    func tell(_ how: String) -> JSONValue? {
      client.ask("POST", "/v1/events", #"{"type":"tell","subject":"s","data":{"how":"\#(how)"}}"#)?.json?["failures"]
    }
    func health() -> JSONValue { HealthReport(rig.services).json }
    #expect(tell("a") == [] && health()["counters"] == ["series": 1, "limit": 2, "full": []])
    #expect(tell("b") == [] && health()["counters"] == ["series": 2, "limit": 2, "full": ["p"]])
    #expect(tell("c") == [] && tell("a") == [])
    #expect(client.ask("GET", "/v1/counters")?.json?[2]?["labels"] == ["other": "true"])
    #expect(health()["counters"] == ["series": 3, "limit": 2, "full": ["p"]])
    #expect(health()["status"] == "ready" && health()["problems"]?.arrayValue?.count == 1)
    rig.services.context.adopt(Configuration())
    #expect(tell("d") == [] && health()["counters"]?["full"] == [])
  }

  @Test func `HEAD is GET without a body`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let head = client.ask("HEAD", "/v1/counters")
    #expect(head?.status == 200)
    #expect(head?.headers["content-length"] == "2")
    #expect(client.ask("GET", "/v1/counters")?.body == "[]")
  }

  @Test(arguments: [
    ("GET", "/nope", 404), ("GET", "/v1/events", 405), ("PUT", "/v1/subjects/a", 405), ("POST", "/healthz", 405),
    ("GET", "/healthz", 200), ("GET", "/metrics", 200), ("GET", "/v1/rules", 200), ("GET", "/v1/parked", 200),
    ("GET", "/v1/subjects?limit=x", 400), ("GET", "/v1/subjects/", 404), ("GET", "/v1//rules", 404),
    ("GET", "/v1/watch?after=x", 400), ("POST", "/v1/query/p.broken", 500), ("POST", "/v1/query/p.none", 404),
    ("GET", "http://localhost/healthz", 200), ("BREW", "/v1/rules", 405), ("GET", "/livez", 200),
    ("HEAD", "/livez", 200),
    ("GET", "/readyz", 200), ("HEAD", "/readyz", 200), ("POST", "/readyz", 405), ("GET", "/v1/subjects?limit=", 200),
    ("GET", "/v1/subjects?limti=", 400), ("GET", "/healthz?x", 400), ("POST", "/v1/events?source=a", 400),
    ("DELETE", "/v1/subjects/a?plugin=p", 400),
  ])
  func `a route answers with its status`(_ method: String, _ target: String, _ status: Int) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let answer = HTTPClient(rig.client()).ask(method, target, method == "POST" ? "{}" : nil)
    #expect(answer?.status == status)
    #expect((answer?.headers["allow"] != nil) == (status == 405))
  }

  @Test(arguments: [
    ("GET", "/v1/watch?sujbect=a", "params.sujbect: is unknown; did you mean “subject”?"),
    ("GET", "/v1/counters?perfix=a", "params.perfix: is unknown; did you mean “prefix”?"),
    ("GET", "/v1/rules?all", "params.all: is unknown; there are none"),
    ("GET", "/v1/subjects?limit=1&prefix=a&limit=2", "params.limit: is in the query string twice"),
    ("POST", "/v1/unpin", "params.subjects: is unknown; there are none"),
    ("POST", "/v1/rules/reload", "params.subjects: is unknown; there are none"),
    ("POST", "/v1/parked/a/retry", "params.subjects: is unknown; there are none"),
    ("POST", "/v1/query/p.n", "params.subjects: is unknown; did you mean “subject”?"),
  ])
  func `a name that nobody reads is an error that names the nearest`(
    _ method: String, _ target: String, _ message: String
  ) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let answer = HTTPClient(rig.client()).ask(method, target, method == "POST" ? #"{"subjects":"a"}"# : nil)
    #expect(answer?.status == 400 && answer?.json?["data"]?["code"] == "invalid_params")
    #expect(answer?.json?["message"]?.stringValue == message)
  }

  @Test func `each error is counted once, whichever thread answers with it`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    func errors() -> [RequestError.Code: Int] {
      rig.services.figures.reduce(into: [:]) { $0.merge($1.errors, uniquingKeysWith: +) }
    }
    _ = client.ask("GET", "/nope")
    #expect(errors() == [.unknownMethod: 1])
    _ = client.ask("GET", "/v1/subjects/nobody")
    #expect(errors() == [.unknownMethod: 1, .notFound: 1])
    _ = client.ask("GET", "/boom", nil, ["Host": "site.example"])
    #expect(errors() == [.unknownMethod: 1, .notFound: 1, .ruleFailed: 1])
    let caller = ControlCaller(id: nil, target: ReplyTarget(.worker(0), connection: 0, isAdmin: true))
    rig.services.reply(.failure(RequestError(.reloadFailed, "no")), to: caller)
    #expect(errors()[.reloadFailed] == 1)
  }

  @Test func `a daemon that is degraded is alive and not ready, and says why`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    #expect(client.ask("GET", "/readyz")?.json == ["status": "ready"])
    rig.services.status.store("the disk is full")
    let ready = client.ask("GET", "/readyz")
    #expect(ready?.status == 503)
    #expect(ready?.json == ["status": "degraded", "problems": ["the store failed: the disk is full"]])
    #expect(client.ask("HEAD", "/readyz")?.status == 503)
    #expect(client.ask("GET", "/livez")?.json == ["status": "alive"])
    rig.services.status.store(nil)
    #expect(client.ask("GET", "/readyz")?.status == 200)
  }

  @Test func `an unknown content type is refused`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    #expect(
      client.ask("POST", "/v1/events", "a=b", ["Content-Type": "application/x-www-form-urlencoded"])?.status == 415)
    #expect(client.ask("POST", "/v1/query/p.n", "{}", ["Content-Type": "text/plain"])?.status == 415)
  }

  @Test func `with too many requests in flight, further ones are told to wait`() throws {
    let rig = try ServerRig { $0.limits.inFlight = -1 }
    defer { rig.stop() }
    let answer = HTTPClient(rig.client()).ask("POST", "/v1/events", #"{"type":"n","subject":"s"}"#)
    #expect(answer?.status == 429)
    #expect(answer?.headers["retry-after"] == "1")
  }

  @Test func `metrics name plugins and no subjects`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    for type in ["n", "boom"] { _ = client.ask("POST", "/v1/events", #"{"type":"\#(type)","subject":"somebody"}"#) }
    let text = client.ask("GET", "/metrics")?.body ?? ""
    #expect(text.contains("ruled_plugin_runs_total{plugin=\"p\"} 2\n"))
    #expect(text.contains("ruled_plugin_failures_total{plugin=\"p\"} 1\n"))
    #expect(text.contains("ruled_parked{plugin=\"p\"} 1\n"))
    #expect(text.contains("ruled_events_total 2\n"))
    #expect(!text.contains("somebody"))
  }

  @Test func `the metrics count the timers that wait`() throws {
    let store = MemoryStore()
    let rules = """
      plugin { name = "p", version = "1" }
      rule "set" { on = "set", run = function(event)
        for name in pairs(event.data) do timer.set(name, now() + 3600, "due", {}) end
      end }
      rule "cancel" { on = "cancel", run = function(event) timer.cancel(event.data.name) end }
      rule "fail" { on = "fail", run = function() timer.set("c", now() + 3600, "due", {}); error("late") end }
      rule "forget" { on = "forget", run = function() forget() end }
      """
    let rig = try ServerRig(store: store, rules: rules)
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    func waiting(after type: String, _ subject: String, _ data: String = "{}") -> String? {
      _ = client.ask("POST", "/v1/events", #"{"type":"\#(type)","subject":"\#(subject)","data":\#(data)}"#)
      let lines = client.ask("GET", "/metrics")?.body.split(separator: "\n")
      return lines?.first { $0.hasPrefix("ruled_timers_waiting ") }?.split(separator: " ").last.map { String($0) }
    }
    #expect(waiting(after: "set", "a", #"{"x":1,"y":1}"#) == "2")
    #expect(waiting(after: "set", "a", #"{"x":1}"#) == "2")
    #expect(waiting(after: "set", "b", #"{"x":1}"#) == "3")
    #expect(waiting(after: "fail", "a") == "3")
    #expect(waiting(after: "cancel", "a", #"{"name":"x"}"#) == "2")
    #expect(waiting(after: "cancel", "a", #"{"name":"x"}"#) == "2")
    #expect(waiting(after: "set", "a", #"{"z":1}"#) == "3")
    #expect(waiting(after: "forget", "a") == "1")
    rig.services.context.waitingTimers.store(0, ordering: .relaxed)
    rig.services.countTimers()
    #expect(waiting(after: "none", "c") == "1")
    _ = client.ask("DELETE", "/v1/subjects/b")
    #expect(waiting(after: "none", "c") == "0")
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /healthz\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "POST /v1/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  ])
  func `a malformed request is refused, and the server serves others`(_ request: String) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let broken = rig.client()
    broken.send(request)
    broken.endWriting()
    #expect(broken.receiveAll().hasPrefix("HTTP/1.1 400 "))
    #expect(HTTPClient(rig.client()).ask("GET", "/healthz")?.status == 200)
  }

  @Test func `a client that leaves before its response harms nobody`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    for number in 0..<50 {
      let client = HTTPClient(rig.client())
      client.send("POST", "/v1/events", #"{"type":"n","subject":"s\#(number)"}"#)
      client.client.close()
    }
    #expect(eventually { rig.services.permits.count == 0 })
    #expect(rig.services.inFlight.load(ordering: .relaxed) == 0)
  }
}

@Suite struct LoopbackTests {
  @Test func `a token is needed for everything but the health`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    for path in ["/healthz", "/livez", "/readyz"] { #expect(client.ask("GET", path)?.status == 200) }
    for headers in [[:], ["Authorization": "Bearer wrong"], ["Authorization": "secret"]] {
      let refused = client.ask("GET", "/v1/rules", nil, headers)
      #expect(refused?.status == 401)
      #expect(refused?.headers["www-authenticate"] != nil)
    }
    #expect(client.ask("GET", "/v1/rules", nil, ["Authorization": "bearer secret"])?.status == 200)
  }

  @Test(arguments: [(Role.reader, 200, 403, 403), (.writer, 200, 200, 403), (.admin, 200, 200, 200)])
  func `the token's role limits what may be called`(_ role: Role, _ reading: Int, _ writing: Int, _ administering: Int)
    throws
  {
    let rig = try ServerRig(token: "secret") { $0.http.role = role }
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let token = ["Authorization": "Bearer secret"]
    #expect(client.ask("GET", "/v1/subjects", nil, token)?.status == reading)
    #expect(client.ask("GET", "/metrics", nil, token)?.status == reading)
    #expect(client.ask("POST", "/v1/events", #"{"type":"n","subject":"s"}"#, token)?.status == writing)
    #expect(client.ask("HEAD", "/v1/watch", nil, token)?.status == writing)
    #expect(client.ask("DELETE", "/v1/subjects/s", nil, token)?.status == administering)
  }

  @Test func `a connection over the limit is refused`() throws {
    let rig = try ServerRig(token: "secret") { $0.limits.connections = 0 }
    defer { rig.stop() }
    #expect(HTTPClient(try rig.loopbackClient()).receive()?.status == 429)
  }
}
