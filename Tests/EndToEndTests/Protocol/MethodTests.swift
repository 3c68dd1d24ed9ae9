import Glibc
import RuledCore
import Testing

extension EndToEnd {
  @Suite struct MethodTests {
    private static let rules = [
      "shop/plugin.lua": """
      plugin { name = "shop", version = "2.1", about = "Sells.", sinks = { "client", "mail" } }
      rule "buy" { on = "buy", run = function(event, state)
        state.bought = (state.bought or 0) + 1
        count("shop.bought", { what = event.data.what })
        if once("first") then decide("welcome", true) end
        decide("bought", state.bought)
        emit("client", "Bought", { what = event.data.what })
        emit("mail", "Receipt", { n = state.bought })
        timer.set("thank", now() + 3600, "thank", {})
      end }
      rule "late" { on = "buy", priority = -1, run = function() decide("bought", "late") end }
      rule "never" { on = "buy", when = function() return false end, run = function() end }
      rule "thank" { on = "thank", run = function(event, state) state.thanked = now() end }
      rule "chain" { on = "chain", run = function(event, state)
        state.hops = event.data.left
        if event.data.left > 0 then send("link:" .. event.data.left - 1, "chain", { left = event.data.left - 1 }) end
      end }
      rule "fail" { on = "fail", run = function() error("as asked") end }
      query "bought" (function(state) return state.bought or 0 end)
      query "all" (function() return counters("shop.") end)
      """
    ]

    private let daemon: RuledDaemon
    private let client: Client

    init() throws {
      daemon = try RuledDaemon(rules: Self.rules)
      client = try daemon.client()
    }

    private func names(_ value: JSONValue?) -> [String] { value?.objectValue?.names.sorted() ?? [] }

    @Test
    func `an outcome has the documented members`() throws {
      let outcome = try client.event("buy", "a", ["what": "tea"], with: ["id": "1"])
      #expect(
        names(outcome) == ["decisions", "duplicate", "effects", "failures", "id", "revision", "subject", "version"])
      #expect(outcome["subject"] == "a")
      #expect(outcome["id"] == "1")
      #expect(outcome["duplicate"] == false)
      #expect(outcome["version"] == 1)
      #expect(outcome["decisions"] == ["shop": ["welcome": true, "bought": 1]])
      #expect(outcome["failures"] == [])
      #expect(outcome["revision"] == (try client.call("rules")["revision"]))
      let effect = outcome["effects"]?[0]
      #expect(names(effect) == ["data", "id", "plugin", "sink", "type"])
      #expect(effect?["sink"] == "client")
      #expect(outcome["effects"]?[1]?["type"] == "Receipt")
      #expect(try client.event("buy", "a")["id"]?.stringValue?.isEmpty == false)
    }

    @Test
    func `a failing rule is reported in the outcome, and its event is parked`() throws {
      let outcome = try client.event("fail", "a", with: ["id": "f", "source": "here"])
      let failure = outcome["failures"]?[0]
      #expect(failure?["plugin"] == "shop")
      #expect(failure?["rule"] == "fail")
      #expect(failure?["kind"] == "error")
      #expect(failure?["file"] == "shop/plugin.lua")
      #expect(failure?["line"] == 18)
      let parked = try client.call("parked")
      #expect(names(parked) == ["parked"])
      let entry = parked["parked"]?[0]
      #expect(names(entry) == ["at", "events", "failure", "id", "plugin", "subject", "tries"])
      #expect(entry?["events"]?[0]?["id"] == "f")
      #expect(entry?["events"]?[0]?["source"] == "here")
      #expect(entry?["failure"]?["kind"] == "error")
      #expect(entry?["tries"] == 1)
      let id = entry?["id"] ?? .null
      let retried = try client.call("retry", ["parked": id])
      #expect(retried["retried"] == 1 && retried["succeeded"] == 0 && retried["failed"] == 1)
      #expect(retried["results"]?[0]?["id"] == id)
      #expect(retried["results"]?[0]?["failure"]?["kind"] == "error")
      #expect(try client.call("parked", ["plugin": "shop"])["parked"]?[0]?["tries"] == 2)
      #expect(try client.call("drop", ["parked": id]) == ["dropped": 1])
      #expect(try client.call("parked")["parked"] == [])
      #expect(try client.failure("drop", ["parked": id])["code"] == -32002)
    }

    @Test
    func `a dry run gives an outcome and stores nothing, not even its id`() throws {
      for _ in 0..<2 {
        let outcome = try client.event("buy", "dry", ["what": "tea"], with: ["id": "1", "dryrun": true])
        #expect(outcome["duplicate"] == false)
        #expect(outcome["decisions"]?["shop"]?["bought"] == 1)
      }
      #expect(try client.failure("state", ["subject": "dry"])["code"] == -32002)
      #expect(try client.call("counters", ["prefix": "shop."]) == [])
      #expect(try client.event("buy", "dry", with: ["id": "1"])["duplicate"] == false)
    }

    @Test(arguments: [false, true])
    func `an explanation lists each rule considered, also of a dry run`(_ isDry: Bool) throws {
      let outcome = try client.event("buy", "e", with: ["explain": true, "dryrun": .bool(isDry)])
      let trace = outcome["trace"]?.arrayValue ?? []
      func entry(_ rule: String) -> JSONValue? { trace.first { $0["rule"] == .string(rule) } }
      #expect(entry("buy")?["fired"] == true)
      #expect(entry("buy")?["plugin"] == "shop")
      #expect(entry("buy")?["decisions"]?.arrayValue?.contains("bought") == true)
      #expect(entry("buy")?["effects"]?.arrayValue?.count == 2)
      #expect(entry("buy")?["writes"]?.arrayValue?.isEmpty == false)
      #expect(entry("never")?["fired"] == false)
      #expect(entry("never")?["reason"]?.stringValue?.holds("when") == true)
      #expect(entry("late")?["shadowed"] != nil)
    }

    @Test
    func `with wait, the reply comes when the whole cascade is committed`() throws {
      for _ in 0..<5 {
        try client.event("chain", "link:20", ["left": 20], with: ["wait": "cascade"])
        for link in 0..<20 {
          let state = try client.call("state", ["subject": .string("link:\(link)")])
          #expect(state["plugins"]?["shop"]?["hops"] == .integer(Int64(link)))
        }
        for link in 0...20 { _ = try client.call("forget", ["subject": .string("link:\(link)")]) }
      }
    }

    @Test
    func `a message after more than 32 hops fails with cycle`() throws {
      try client.event("chain", "link:60", ["left": 60], with: ["wait": "cascade"])
      let parked = try client.call("parked")["parked"]
      #expect(parked?.arrayValue?.count == 1)
      #expect(parked?[0]?["failure"]?["kind"] == "cycle")
      #expect(parked?[0]?["subject"] == "link:28")
    }

    @Test
    func `state returns the states of all plugins, or of one`() throws {
      try client.event("buy", "a")
      #expect(
        try client.call("state", ["subject": "a"]) == [
          "subject": "a", "version": 1, "plugins": ["shop": ["bought": 1]],
        ])
      #expect(try client.call("state", ["subject": "a", "plugin": "shop"])["plugins"] == ["shop": ["bought": 1]])
      #expect(try client.call("query", ["name": "shop.bought", "subject": "a"]) == 1)
      #expect(try client.call("query", ["name": "shop.bought", "subject": "nobody"]) == 0)
    }

    @Test
    func `export returns all data on a subject, and forget erases it with the remembered ids`() throws {
      try client.event("buy", "a", ["what": "tea"], with: ["id": "1"])
      try client.event("fail", "a", with: ["id": "2"])
      let export = try client.call("export", ["subject": "a"])
      #expect(
        names(export) == [
          "boards", "effects", "events", "once", "parked", "plugins", "subject", "timers", "topics", "version",
        ])
      #expect(export["version"] == 2)
      #expect(export["effects"]?.arrayValue?.count == 1)
      #expect(export["timers"]?.arrayValue?.count == 1)
      #expect(export["once"]?.arrayValue?.count == 1)
      #expect(export["parked"]?.arrayValue?.count == 1)
      #expect(export["events"]?.arrayValue?.count == 2)
      let counts: JSONValue = ["state": 1, "timers": 1, "effects": 1, "parked": 1, "events": 2]
      #expect(try client.call("forget", ["subject": "a"]) == ["subject": "a", "forgotten": counts])
      #expect(try client.failure("export", ["subject": "a"])["code"] == -32002)
      #expect(try client.failure("state", ["subject": "a"])["code"] == -32002)
      #expect(try client.call("parked")["parked"] == [])
      #expect(try client.call("subjects")["subjects"] == [])
      let zeros: JSONValue = ["state": 0, "timers": 0, "effects": 0, "parked": 0, "events": 0]
      #expect(try client.call("forget", ["subject": "a"])["forgotten"] == zeros)
      let again = try client.event("buy", "a", ["what": "tea"], with: ["id": "1"])
      #expect(again["duplicate"] == false && again["version"] == 1)
      #expect(again["decisions"]?["shop"]?["welcome"] == true)
    }

    @Test
    func `subjects returns pages in byte order`() throws {
      let names = ["a", "a:1", "a:10", "a:2", "b", "e\u{301}", "z", "é", "日本"]
      for name in names.reversed() { try client.event("buy", name) }
      let inOrder = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      var found: [String] = []
      var after: JSONValue?
      repeat {
        var params: JSONObject = ["limit": 2]
        params["after"] = after
        let page = try client.call("subjects", .object(params))
        found += (page["subjects"]?.arrayValue ?? []).compactMap(\.stringValue)
        after = page["next"]
      } while after != nil
      #expect(found.map { Array($0.utf8) } == inOrder.map { Array($0.utf8) })
      #expect(try client.call("subjects", ["prefix": "a:"])["subjects"] == ["a:1", "a:10", "a:2"])
      #expect(try client.call("subjects", ["prefix": "a:", "after": "a:1"])["subjects"] == ["a:10", "a:2"])
    }

    @Test
    func `counters match by prefix and labels`() throws {
      try client.event("buy", "a", ["what": "tea"])
      try client.event("buy", "b", ["what": "tea"])
      try client.event("buy", "b", ["what": "milk"])
      let tea: JSONValue = ["name": "shop.bought", "labels": ["what": "tea"], "value": 2]
      #expect(try client.call("counters", ["prefix": "shop.", "labels": ["what": "tea"]]) == [tea])
      #expect(try client.call("counters", ["prefix": "shop."]).arrayValue?.count == 2)
      #expect(try client.call("counters", ["prefix": "none"]) == [])
      #expect(try client.call("query", ["name": "shop.all"]).arrayValue?.count == 2)
    }

    @Test
    func `rules, reload and health have the documented members`() throws {
      try client.event("buy", "a")
      let rules = try client.call("rules")
      for name in ["revision", "loaded_at", "plugins", "errors"] { #expect(rules[name] != nil) }
      let shop = rules["plugins"]?[0]
      for name in ["name", "version", "rules", "queries", "runs", "failures", "p50_us", "p99_us"] {
        #expect(shop?[name] != nil)
      }
      #expect(shop?["version"] == "2.1")
      #expect(shop?["queries"] == ["bought", "all"])
      #expect(shop?["runs"] == 1)
      #expect(try client.call("reload") == ["revision": rules["revision"] ?? .null, "changed": false])
      let health = try client.call("health")
      #expect(health["status"] == "ready")
      #expect(health["store"] == (RuledDaemon.isCluster ? "postgresql" : "rocksdb"))
      #expect(health["revision"] == rules["revision"])
      #expect((health["workers"]?.intValue ?? 0) > 0)
      #expect(health["uptime_s"]?.intValue != nil)
    }
  }
}
