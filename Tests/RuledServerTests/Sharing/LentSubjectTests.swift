import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import StoreTestSupport
import Testing

@testable import RuledServer

/// What is promised of a subject holds whichever node evaluates for it.
@Suite struct LentSubjectTests {
  private static let rules = """
    plugin { name = "p", version = "1", sinks = { "nowhere" } }
    rule "add" { on = "add", run = function(event) count("p.many", { n = event.data.n }) end }
    rule "keep" { on = "keep", run = function(event, state) state.text = string.rep("x", 10000) end }
    rule "tell" { on = "tell", run = function(event) send(event.data.to, "keep", {}) end }
    rule "emit" { on = "emit", run = function(event)
      for _ = 1, 8 do emit("nowhere", "thing", { text = string.rep("x", 100000) }) end
    end }
    query "many" (function()
      local sum = 0
      for _, counter in ipairs(counters("p.")) do sum = sum + counter.value end
      return sum
    end)
    """

  private static func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(params)}}"# + "\n"
  }

  private static func event(_ type: String, _ subject: String, _ data: String = "{}") -> String {
    request("event", #""type":"\#(type)","subject":"\#(subject)","data":\#(data)"#)
  }

  /// The first subjects that the node evaluates, or that it does not.
  private static func subjects(_ count: Int, lent: Bool, _ rig: SharingRig) -> [String] {
    let all = (0..<1000).map { "s\($0)" }.filter {
      (rig.owner.services.shares?[Partition(of: Array($0.utf8))] != nil) == lent
    }
    return Array(all.prefix(count))
  }

  private static func reply(_ request: String, _ client: Client) throws -> JSONValue {
    client.send(request)
    return try JSONValue(parsing: client.receive(lines: 1))
  }

  @Test func `A query sees what rules have counted on all nodes`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let subjects = Self.subjects(4, lent: true, rig) + Self.subjects(4, lent: false, rig)
    var sum: Int64 = 0
    for turn in 0..<20 {
      for subject in subjects { client.send(Self.event("add", subject, #"{"n":\#(turn % 3)}"#)) }
      _ = client.receive(lines: subjects.count)
      sum += Int64(subjects.count)
      for subject in subjects {
        let reply = try Self.reply(Self.request("query", #""name":"p.many","subject":"\#(subject)""#), client)
        #expect(reply["result"]?.intValue == sum)
      }
    }
  }

  @Test func `A query sees what the requests before it have counted, once, while they are being committed`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let subject = try #require(Self.subjects(1, lent: true, rig).first)
    let query = Self.request("query", #""name":"p.many","subject":"\#(subject)""#)
    let turns = 500
    client.send((0..<turns).map { _ in Self.event("add", subject, #"{"n":1}"#) + query }.joined())
    let replies = client.receive(lines: 2 * turns).split(separator: "\n")
    let sums = try replies.compactMap { try JSONValue(parsing: String($0))["result"]?.intValue }
    #expect(sums == (1...Int64(turns)).map { $0 })
  }

  @Test func `A plugin may have so many counters on all nodes together`() throws {
    let rig = try SharingRig(rules: Self.rules) { $0.limits.counters = 10 }
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let subjects = [try #require(Self.subjects(1, lent: true, rig).first), Self.subjects(1, lent: false, rig)[0]]
    var failed = 0
    for number in 0..<30 {
      let reply = try Self.reply(Self.event("add", subjects[number % 2], #"{"n":\#(number)}"#), client)
      if reply["result"]?["failures"]?[0] != nil { failed += 1 }
    }
    #expect(failed == 20)
    #expect(rig.owner.services.context.counters.counts == ["p": 10])
    for subject in subjects {
      let reply = try Self.reply(Self.event("add", subject, #"{"n":3}"#), client)
      #expect(reply["result"]?["failures"] == [], "a counter that is there goes on")
    }
  }

  @Test func `A reply that is too large to be sent is refused, and nothing else`() throws {
    let rig = try SharingRig(rules: Self.rules, mostReplyBytes: 10_000)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let subjects = Self.subjects(2, lent: true, rig)
    for subject in subjects { client.send(Self.event("keep", subject)) }
    _ = client.receive(lines: 2)
    for method in ["state", "export"] {
      let refused = try Self.reply(Self.request(method, #""subject":"\#(subjects[0])""#), client)
      #expect(refused["error"]?["data"]?["code"] == "too_large")
    }
    let reply = try Self.reply(Self.request("query", #""name":"p.many","subject":"\#(subjects[0])""#), client)
    #expect(reply["result"]?.intValue == 0)
    #expect(rig.lent == 128)
  }

  @Test func `Requests that come at once and write much become several commits`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let subject = try #require(Self.subjects(1, lent: true, rig).first)
    client.send(String(repeating: Self.event("emit", subject), count: 100))
    #expect(!client.receive(lines: 100).contains("error"))
    let sizes = rig.owner.services.elsewhere?.commits.bytes
    #expect((sizes?.total ?? 0) >= 16, "each has about 4 MiB")
    #expect(rig.lent == 128)
  }

  @Test func `Who asks the owner or the node sees that a subject is held on the node`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    let client = rig.owner.client()
    let lent = try #require(Self.subjects(1, lent: true, rig).first)
    let own = try #require(Self.subjects(1, lent: false, rig).first)
    rig.log.copy.failReads { Array($0) == Array("r\(lent)\0".utf8) }
    _ = try Self.reply(Self.event("tell", own, #"{"to":"\#(lent)"}"#), client)
    let health = { rig.owner.services.status.health(rig.owner.services) }
    let held = "messages of 1 subjects can't be applied, as the log says; they are tried again"
    #expect(eventually { health()["messages"]?["held_subjects"] == 1 })
    #expect(health()["status"] == "degraded")
    let problems = health()["problems"]?.arrayValue?.compactMap(\.stringValue) ?? []
    #expect(problems.contains("node b: \(held)"))
    #expect(problems.contains { $0.hasPrefix("node b: 1 entry of the store can't be read") })
    #expect(health()["unreadable"]?[0]?["node"] == "b")
    #expect(rig.share.problems.own.contains(held) && rig.share.problems.told.isEmpty)
    rig.log.copy.failReads(of: nil)
    #expect(eventually { health()["status"] == "ready" && health()["messages"]?["held_subjects"] == 0 })
    #expect(rig.share.problems.own.isEmpty)
  }

  @Test func `A node knows what is wrong with the owner, as long as it evaluates for it`() throws {
    let rig = try SharingRig(rules: Self.rules)
    defer { rig.stop() }
    #expect(eventually { rig.lent == 128 })
    rig.owner.services.status.background = "the disk is full"
    #expect(eventually { rig.share.problems.told.contains { $0.hasSuffix("the store: the disk is full") } })
    rig.leave()
    #expect(eventually { rig.share.problems.told.isEmpty })
  }
}
