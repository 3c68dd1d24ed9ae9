import IOTestSupport
import RuledCore
import Testing

@testable import RuledServing

@Suite struct HTTPEventTests {
  @Test func `an event is answered with its outcome, and a repeat with the same`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let event = #"{"type":"n","subject":"s","id":"1"}"#
    let first = try #require(client.ask("POST", "/v1/events", event))
    #expect(first.status == 200)
    #expect(first.headers["content-type"] == "application/json")
    #expect(first.json?["decisions"]?["p"]?["n"] == .integer(1))
    let repeated = client.ask("POST", "/v1/events", event)?.json
    #expect(repeated?["duplicate"] == .bool(true) && repeated?["differs"] == nil)
    let batch = ["Content-Type": "application/cloudevents-batch+json"]
    let others = #"[{"type":"n","subject":"s","id":"1","data":{"n":2}},{"type":"n","subject":"s","id":"2"}]"#
    let answers = client.ask("POST", "/v1/events", others, batch)?.json
    #expect(answers?[0]?["differs"] == .bool(true) && answers?[1]?["differs"] == nil)
    let metrics = client.ask("GET", "/metrics")?.body
    #expect(metrics?.contains("\nruled_events_differing_total 1\n") == true)
  }

  @Test func `pipelined requests are applied and answered in order`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    for _ in 0..<50 { client.send("POST", "/v1/events", #"{"type":"n","subject":"s"}"#) }
    for count in 1...50 { #expect(client.receive()?.json?["decisions"]?["p"]?["n"] == .integer(Int64(count))) }
  }

  @Test func `a chunked body is put together`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let body = #"{"type":"n","subject":"s"}"#
    let chunks = body.utf8.map { "1\r\n\(Character(UnicodeScalar($0)))\r\n" }.joined()
    client.client.send(
      "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
    )
    #expect(client.receive()?.status == 200)
  }

  @Test func `a body over the limit is skipped, and the connection stays open`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let data = String(repeating: "x", count: 1 << 20)
    let refused = client.ask("POST", "/v1/events", #"{"type":"n","subject":"s","data":""# + data + #""}"#)
    #expect(refused?.status == 413)
    #expect(refused?.json?["code"] == .integer(-32001))
    let fits = client.ask("POST", "/v1/events", #"{"type":"n","subject":"s","data":""# + data.dropLast(100) + #""}"#)
    #expect(fits?.status == 200)
  }

  @Test func `a batch is answered element by element, in order`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let type = ["Content-Type": "application/cloudevents-batch+json; charset=utf-8"]
    let events = (0..<20).map { #"{"type":"n","subject":"s\#($0 % 5)"}"# } + [#"{"type":"n"}"#, "7"]
    let answers = client.ask("POST", "/v1/events", "[\(events.joined(separator: ","))]", type)?.json?.arrayValue ?? []
    try #require(answers.count == 22)
    for index in 0..<20 {
      #expect(answers[index]["subject"] == .string("s\(index % 5)"))
      #expect(answers[index]["version"] == .integer(Int64(index / 5 + 1)))
    }
    #expect(answers[20]["code"] == .integer(-32602))
    #expect(answers[21]["code"] == .integer(-32600))
    #expect(client.ask("POST", "/v1/events", "[]", type)?.body == "[]")
  }

  @Test func `binary mode takes attributes from the headers`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let dry = client.ask(
      "POST", "/v1/events", #"{"a":1}"#,
      ["ce-type": "n", "ce-subject": "s%C3%A9", "ce-id": "\"q\\\"1\"", "ce-dryrun": "true", "ce-explain": "true"])
    #expect(dry?.json?["subject"] == .string("sé"))
    #expect(dry?.json?["id"] == .string("q\"1"))
    #expect(dry?.json?["version"] == .integer(0))
    #expect(dry?.json?["trace"]?.arrayValue?.isEmpty == false)
    let wrong = client.ask("POST", "/v1/events", "{}", ["ce-type": "n", "ce-subject": "s", "ce-dryrun": "yes"])
    #expect(wrong?.status == 400)
    #expect(wrong?.json?["data"]?["path"] == .string("params.dryrun"))
  }

  @Test(arguments: [
    ("{\"type\":", 400, -32700), ("{}", 400, -32602), ("5", 400, -32600), ("[]", 400, -32602), ("", 400, -32700),
    (#"{"type":"n","subject":"s"},"method":"forget""#, 400, -32700),
  ])
  func `a body that is not an event is refused`(_ body: String, _ status: Int, _ code: Int64) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let answer = HTTPClient(rig.client()).ask("POST", "/v1/events", body)
    #expect(answer?.status == status)
    #expect(answer?.json?["code"] == .integer(code))
  }

  @Test func `a compressed body and a byte order mark are refused by name`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    let event = #"{"type":"n","subject":"s"}"#
    let compressed = client.ask("POST", "/v1/events", event, ["Content-Encoding": "gzip"])
    #expect(compressed?.status == 415 && compressed?.json?["message"]?.text.contains("Content-Encoding") == true)
    #expect(compressed?.headers["accept-encoding"] == "identity")
    #expect(client.ask("POST", "/v1/events", event, ["Content-Encoding": "identity"])?.status == 200)
    let marked = client.ask("POST", "/v1/events", "\u{FEFF}" + event)
    #expect(marked?.status == 400 && marked?.json?["message"]?.text.contains("byte order mark") == true)
    let lines = rig.client()
    lines.send("\u{FEFF}" + #"{"jsonrpc":"2.0","id":1,"method":"health"}"# + "\n")
    #expect(lines.receive(lines: 1).contains("byte order mark"))
  }

  @Test func `an explanation has values for those alone who may read states`() throws {
    let rig = try ServerRig(
      rules: """
        plugin { name = "p", version = "1" }
        rule "r" { on = "n", when = function(e, s) return s.secret == "b" end, run = function() end }
        rule "s" { on = "n", run = function(e, s) s.secret = "topsecret" end }
        """)
    defer { rig.stop() }
    let (other, end) = Client.pair()
    rig.server.accept(end, from: .init(.web, node: "b"))
    let event = #"{"type":"n","subject":"s","explain":true}"#
    let (administrator, stranger) = (HTTPClient(rig.client()), HTTPClient(other))
    _ = administrator.ask("POST", "/v1/events", event)
    let shown = administrator.ask("POST", "/v1/events", event)
    #expect(shown?.body.contains("topsecret") == true)
    let hidden = stranger.ask("POST", "/v1/events", event)
    #expect(hidden?.status == 200 && hidden?.json?["trace"]?.arrayValue?.count == 2)
    #expect(hidden?.body.contains("topsecret") == false, "\(hidden?.body ?? "")")
    #expect(stranger.ask("GET", "/v1/subjects/s")?.status == 403)
  }

  @Test(arguments: [63, 64, 65])
  func `a body may nest 64 deep and no deeper`(_ depth: Int) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    func nested(_ count: Int) -> String { String(repeating: "[", count: count) + String(repeating: "]", count: count) }
    let client = HTTPClient(rig.client())
    let binary = ["Content-Type": "application/json", "ce-type": "n", "ce-subject": "s", "ce-specversion": "1.0"]
    let batch = ["Content-Type": "application/cloudevents-batch+json"]
    let answers = [
      client.ask("POST", "/v1/events", #"{"type":"n","subject":"s","data":\#(nested(depth - 1))}"#),
      client.ask("POST", "/v1/events", nested(depth), binary),
      client.ask("POST", "/v1/events", #"[{"type":"n","subject":"s","data":\#(nested(depth - 2))}]"#, batch),
      client.ask("POST", "/v1/query/p.n", #"{"args":{"x":\#(nested(depth - 2))}}"#),
    ]
    #expect(answers.map { $0?.status } == Array(repeating: depth > 64 ? 400 : 200, count: 4))
    if depth > 64 { #expect(answers.allSatisfy { $0?.json?["code"] == -32700 }) }
  }
}
