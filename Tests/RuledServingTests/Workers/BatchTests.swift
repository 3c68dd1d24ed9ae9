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

  /// Rules with replies of 900 kB: of a query, and of an event that is sent again.
  private static let largeReplies = """
    plugin { name = "p", version = "1" }
    query "large" (function() return { text = string.rep("x", 900000) } end)
    rule "large" { on = "large", run = function() decide("text", string.rep("x", 900000)) end }
    """

  /// How many of these replies are results, and how many refuse a request; others are found.
  private static func counts(_ replies: some Sequence<JSONValue>) -> (results: Int, refused: Int, others: Int) {
    replies.reduce(into: (0, 0, 0)) { counts, reply in
      if reply["result"] != nil || reply["decisions"] != nil {
        counts.0 += 1
      } else if (reply["error"] ?? reply)["data"]?["code"] == .string("overloaded") {
        counts.1 += 1
      } else {
        counts.2 += 1
      }
    }
  }

  @Test func `the replies to a batch take a bounded amount of memory, and its other requests are refused`() throws {
    let rig = try ServerRig(rules: Self.largeReplies)
    defer { rig.stop() }
    let client = rig.client()
    for subjects in [1, 4] {
      let queries = (0..<150).map { number in
        #"{"jsonrpc":"2.0","id":\#(number),"method":"query","params":{"name":"p.large","subject":"s\#(number % subjects)"}}"#
      }
      client.send("[\(queries.joined(separator: ","))]\n")
      let replies = try #require(try JSONValue(parsing: client.receive(lines: 1)).arrayValue)
      let counts = Self.counts(replies)
      #expect(counts.results >= RequestTurn.mostBytes / 900_100)
      #expect(counts.results <= RequestTurn.mostBytes / 900_000 + 2 * RequestTurn.requests, "the last turns")
      #expect(counts.refused == 150 - counts.results)
      #expect(replies.map { $0["id"] } == (0..<150).map { .integer(Int64($0)) })
    }
    #expect(rig.services.refusals.count(.replies) > 0)
    let http = HTTPClient(rig.client())
    let events = (0..<150).map { _ in #"{"id":"a","source":"t","type":"large","subject":"s","specversion":"1.0"}"# }
    let type = ["Content-Type": "application/cloudevents-batch+json"]
    let answer = http.ask("POST", "/v1/events", "[\(events.joined(separator: ","))]", type)?.json?.arrayValue ?? []
    let counts = Self.counts(answer)
    #expect(answer.count == 150 && counts.others == 0 && counts.results + counts.refused == 150)
    #expect(counts.results >= RequestTurn.mostBytes / 900_100)
    #expect(counts.results <= RequestTurn.mostBytes / 900_000 + 2, "the reply that reached the bound")
  }

  @Test func `large replies to lines that come at once take a bounded amount of memory`() throws {
    let rig = try ServerRig(rules: Self.largeReplies)
    defer { rig.stop() }
    let client = rig.client()
    let event = #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"id":"a","type":"large","subject":"s"}}"#
    client.send(String(repeating: event + "\n", count: 600))
    let replies = try client.receive(lines: 600).split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    let counts = Self.counts(replies)
    #expect(counts.results >= RequestTurn.mostBytes / 900_100)
    #expect(counts.refused > 0 && counts.results + counts.refused == 600)
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
