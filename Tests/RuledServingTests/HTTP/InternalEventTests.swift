import IOTestSupport
import RuledCore
import Testing

@testable import RuledServing

/// Events that only rules make, by each way in.
@Suite struct InternalEventTests {
  private static let rules = """
    plugin { name = "p", version = "1" }
    event "told" { from = "rules", n = "integer" }
    rule "r" { on = "told", run = function(event) decide("n", { event.data.n, event.internal or event.origin }) end }
    """

  /// A way into the daemon: headers, and the body with and without `internal`.
  enum Way: CaseIterable {
    case plain, structured, binary, batch, dryRun

    func ask(_ client: HTTPClient, _ token: [String: String], isInternal: Bool) -> (status: Int?, answer: JSONValue?) {
      let more = (isInternal ? #","internal":true"# : "") + (self == .dryRun ? #","dryrun":true,"explain":true"# : "")
      var headers = token
      var body =
        #"{"type":"told","subject":"s","specversion":"1.0","source":"x","id":"\#(self)-\#(isInternal)","data":{"n":1}\#(more)}"#
      switch self {
      case .plain, .dryRun: headers["Content-Type"] = "application/json"
      case .structured: headers["Content-Type"] = "application/cloudevents+json"
      case .batch:
        headers["Content-Type"] = "application/cloudevents-batch+json"
        body = "[\(body)]"
      case .binary:
        body = #"{"n":1}"#
        headers["Content-Type"] = "application/json"
        for (name, value) in [
          "type": "told", "subject": "s", "specversion": "1.0", "source": "x", "id": "b\(isInternal)",
        ] {
          headers["ce-\(name)"] = value
        }
        if isInternal { headers["ce-internal"] = "true" }
      }
      let response = client.ask("POST", "/v1/events", body, headers)
      return (response?.status, self == .batch ? response?.json?[0] : response?.json)
    }
  }

  @Test(arguments: Way.allCases)
  func `an administrator's token sends one with internal, and without it none`(_ way: Way) throws {
    let rig = try ServerRig(token: "secret", rules: Self.rules) { $0.http.role = .admin }
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    let token = ["Authorization": "Bearer secret"]
    let refused = way.ask(client, token, isInternal: false)
    #expect(refused.status == (way == .batch ? 200 : 403))
    #expect(
      refused.answer?["data"]?["code"] == "forbidden" && refused.answer?["data"]?["detail"] == "made by rules only")
    let sent = way.ask(client, token, isInternal: true)
    #expect(sent.status == 200 && sent.answer?["decisions"]?["p"]?["n"] == [1, "client"])
    #expect(rig.log.lines.contains { $0.message.hasPrefix("an administrator sent 'told'") } == (way != .dryRun))
  }

  @Test(arguments: Way.allCases)
  func `a writer's token sends none, whatever it says`(_ way: Way) throws {
    let rig = try ServerRig(token: "secret", rules: Self.rules) { $0.http.role = .writer }
    defer { rig.stop() }
    let client = HTTPClient(try rig.loopbackClient())
    for isInternal in [false, true] {
      let refused = way.ask(client, ["Authorization": "Bearer secret"], isInternal: isInternal)
      #expect(refused.answer?["data"]?["detail"] == "made by rules only")
    }
    #expect(rig.log.text.contains("administrator") == false)
  }

  @Test func `over the socket an administrator sends one, alone and in a batch`() throws {
    let rig = try ServerRig(rules: Self.rules)
    defer { rig.stop() }
    let client = rig.client()
    func line(_ id: Int, _ more: String) -> String {
      #"{"jsonrpc":"2.0","id":\#(id),"method":"event","params":{"type":"told","subject":"s","data":{"n":\#(id)}\#(more)}}"#
    }
    client.send(line(1, "") + "\n" + line(2, #","internal":true"#) + "\n")
    let answers = try client.receive(lines: 2).split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(answers[0]["error"]?["code"] == -32003 && answers[1]["result"]?["decisions"]?["p"]?["n"] == [2, "client"])
    client.send("[\(line(3, "")),\(line(4, #","internal":true"#))]\n")
    let batch = try JSONValue(parsing: client.receive(lines: 1))
    #expect(batch[0]?["error"]?["data"]?["detail"] == "made by rules only")
    #expect(batch[1]?["result"]?["decisions"]?["p"]?["n"] == [4, "client"])
  }
}
