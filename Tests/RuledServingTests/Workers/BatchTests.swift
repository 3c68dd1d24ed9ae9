import RuledCore
import RuledJSON
import TestSupport
import Testing

@testable import RuledServing

@Suite struct BatchTests {
  @Test func `requests after a batch are applied after it, whichever workers own the subjects`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = rig.client()
    for round in 1...10 {
      let events = (0..<200).map { ServerRig.event("batch-\(round)", $0, subject: $0 % 4).dropLast() }
      let singles = (1000..<1004).map { ServerRig.event("single-\(round)", $0, subject: $0 % 4) }
      client.send("[\(events.joined(separator: ","))]\n" + singles.joined())
      for line in client.receive(lines: 5).split(separator: "\n") where !line.hasPrefix("[") {
        let outcome = try JSONValue(parsing: String(line))["result"]
        #expect(outcome?["decisions"]?["p"]?["n"] == .integer(Int64(51 * round)))
      }
    }
  }

  @Test func `a batch of more requests than may be in flight is refused whole`() throws {
    let rig = try ServerRig { $0.limits.inFlight = 10 }
    defer { rig.stop() }
    let client = rig.client()
    func batch(_ count: Int) -> String { "[\((0..<count).map { "\($0)" }.joined(separator: ","))]" }
    client.send(batch(10) + "\n" + batch(11) + "\n")
    let lines = client.receive(lines: 2).split(separator: "\n").map { try? JSONValue(parsing: String($0)) }
    #expect(lines.first??.arrayValue?.count == 10)
    #expect(lines.last??["error"]?["data"]?["code"] == .string("too_large"))
    let type = ["Content-Type": "application/cloudevents-batch+json"]
    let http = HTTPClient(rig.client())
    #expect(http.ask("POST", "/v1/events", batch(10), type)?.json?.arrayValue?.count == 10)
    #expect(http.ask("POST", "/v1/events", batch(11), type)?.status == 413)
  }

  @Test func `a batch that its client does not wait for is executed to its end`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = rig.client()
    client.send("[\((0..<1000).map { ServerRig.event("b", $0, subject: 1).dropLast() }.joined(separator: ","))]\n")
    client.close()
    let asking = rig.client()
    #expect(eventually { (try? ServerRig.count(of: 1, asking)) == 1000 })
    #expect(eventually { rig.services.inFlight.load(ordering: .relaxed) == 0 })
  }

  @Test func `requests that come at once and write much become several commits`() throws {
    let rules = """
      plugin { name = "p", version = "1", sinks = { "nowhere" } }
      rule "emit" { on = "emit", run = function()
        for _ = 1, 8 do emit("nowhere", "thing", { text = string.rep("x", 100000) }) end
      end }
      """
    let rig = try ServerRig(rules: rules)
    defer { rig.stop() }
    let client = rig.client()
    let event = #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"emit","subject":"s"}}"# + "\n"
    client.send(String(repeating: event, count: 30))
    #expect(!client.receive(lines: 30).contains("error"))
    let commits = rig.services.figures.reduce(0) { $0 + $1.commits.bytes.total }
    #expect(commits >= 5, "each has about 4 MiB")
  }
}
