import Glibc
import RuledCore
import RuledJSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct IsolationTests {
    private static func good(_ name: String) -> String {
      """
      plugin { name = "\(name)", version = "1" }
      rule "count" { on = "tick", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("n", state.n)
      end }
      """
    }

    private static func wild(_ body: String) -> String {
      """
      plugin { name = "wild", version = "1" }
      rule "count" { on = "tick", run = function(event, state)
        state.n = (state.n or 0) + 1
        \(body)
        decide("n", state.n)
      end }
      rule "stop" { on = "stop", run = function(event, state) while not event.data.harmless do end; decide("ran", true) end }
      """
    }

    private static func rules(_ body: String) -> [String: String] {
      var rules = ["wild/plugin.lua": wild(body)]
      for name in ["a", "b", "y", "z"] { rules["\(name)/plugin.lua"] = good(name) }
      return rules
    }

    @Test
    func `while one of five plugins loops forever on every tenth event, the other four answer right`() throws {
      let daemon = try RuledDaemon(rules: Self.rules("if event.data.n % 10 == 0 then while true do end end"))
      let client = try daemon.client()
      let perSubject = 40
      let loads = (0..<2).map { connection in
        Load(
          (1...perSubject).flatMap { n in
            (0..<4).map { Load.event("\(connection).\(n).\($0)", "tick", "s:\(connection)-\($0)", "{\"n\":\(n)}") }
          }, window: 16)
      }
      let wrong = Mutex<[String]>([])
      let stops = Atomic<Int>(0)
      let socket = daemon.socket
      Threads.run(2) { thread in
        loads[thread].run(socket) { line in
          guard let outcome = (try? JSONValue(parsing: line))?["result"], let id = outcome["id"]?.stringValue,
            let n = Int64(id.split(separator: ".").dropFirst().first ?? "")
          else { return wrong.withLock { $0.append(line) } }
          let others = ["a", "b", "y", "z"].allSatisfy { outcome["decisions"]?[$0]?["n"] == .integer(n) }
          let failures = outcome["failures"]?.arrayValue ?? []
          let isStop = n % 10 == 0
          let own = isStop ? failures.count == 1 && failures[0]["plugin"] == "wild" : failures.isEmpty
          if isStop { stops.add(1, ordering: .relaxed) }
          if !others || !own { wrong.withLock { $0.append(line) } }
        }
      }
      let problems = wrong.withLock { $0 }.filter { !$0.holds("suspended") }
      #expect(problems.isEmpty, "\(problems.count), such as \(problems.first ?? "")")
      #expect(loads.allSatisfy { $0.isDone && $0.errors.isEmpty })
      for connection in 0..<2 {
        for subject in 0..<4 {
          let state = try client.call("state", ["subject": .string("s:\(connection)-\(subject)")])
          for name in ["a", "b", "y", "z"] { #expect(state["plugins"]?[name]?["n"] == .integer(Int64(perSubject))) }
        }
      }
      let parked = try client.call("parked", ["plugin": "wild", "limit": 1000])["parked"]?.arrayValue ?? []
      #expect(parked.count >= stops.load(ordering: .relaxed))
      let kinds = Set(parked.compactMap { $0["failure"]?["kind"]?.stringValue })
      #expect(kinds.isSubset(of: ["instructions", "time", "error"]))
      #expect(!kinds.isDisjoint(with: ["instructions", "time"]))
      let total = Int64(perSubject * 8)
      daemon.folder.replace("rules/wild/plugin.lua", with: Self.wild(""))
      _ = try client.call("reload")
      #expect(try eventually { try client.call("parked")["parked"] == [] })
      var sum: Int64 = 0
      for connection in 0..<2 {
        for subject in 0..<4 {
          let state = try client.call("state", ["subject": .string("s:\(connection)-\(subject)"), "plugin": "wild"])
          sum += state["plugins"]?["wild"]?["n"]?.intValue ?? 0
        }
      }
      #expect(sum == total)
    }

    @Test(arguments: [false, true])
    func `after three stops in a row a subject is put off alone, until a reload or retry`(_ byReload: Bool) throws {
      let daemon = try RuledDaemon(rules: Self.rules(""))
      let client = try daemon.client()
      for number in 1...2 { try client.event("stop", "t", ["number": .integer(Int64(number))]) }
      #expect(try client.event("tick", "t", ["n": 1])["decisions"]?["wild"]?["n"] == 1)
      for _ in 1...3 {
        let failure = try client.event("stop", "t")["failures"]?[0]
        #expect(failure?["kind"] == "instructions" || failure?["kind"] == "time")
      }
      let health = try client.call("health")
      #expect(health["status"] == "ready" && health["suspended"] == [])
      let putOff = try #require(health["put_off"]?.arrayValue?.first)
      #expect(putOff["plugin"] == "wild" && putOff["subject"] == "t", "\(health.text)")
      let seconds = try #require(putOff["seconds"]?.intValue)
      #expect(seconds > 0 && seconds <= 60)
      #expect(try client.event("tick", "elsewhere", ["n": 1])["decisions"]?["wild"]?["n"] == 1)
      let outcome = try client.event("tick", "t", ["n": 1])
      #expect(outcome["decisions"]?["wild"] == nil && outcome["decisions"]?["a"]?["n"] == 2)
      #expect(outcome["failures"]?[0]?["plugin"] == "wild")
      #expect(try client.call("parked", ["plugin": "wild"])["parked"]?.arrayValue?.count == 6)
      if byReload {
        #expect(try client.call("reload")["changed"] == false)
        #expect(try client.call("health")["put_off"] == [])
        #expect(try client.event("tick", "t", ["n": 1])["decisions"]?["wild"]?["n"] == 2)
      }
      let parked = try client.call("parked", ["plugin": "wild"])["parked"]?.arrayValue ?? []
      let tick = try #require(parked.first { $0["events"]?[0]?["type"] == "tick" })
      let retried = try client.call("retry", ["parked": tick["id"] ?? .null])
      #expect(retried["succeeded"] == 1, "\(retried.text)")
      #expect(try client.call("state", ["subject": "t"])["plugins"]?["wild"]?["n"] == (byReload ? 3 : 2))
      #expect(try client.call("health")["put_off"] == [])
      #expect(try client.failure("retry", ["parked": tick["id"] ?? .null])["code"] == -32002)
      #expect(try client.call("drop", ["plugin": "wild"]) == ["dropped": 5])
      #expect(try client.call("parked")["parked"] == [])
    }

    @Test(.oneDaemon("a node that starts takes the cluster's rules"))
    func `a start with other rules of their plugin retries parked events once, as a reload does`() throws {
      let daemon = try RuledDaemon(rules: Self.rules("error('no')"))
      for n in 1...3 { try daemon.client().event("tick", "s:\(n)", ["n": .integer(Int64(n))]) }
      daemon.end(SIGKILL)
      daemon.folder.replace("rules/wild/plugin.lua", with: Self.wild("if event.data.n == 2 then error('still') end"))
      try daemon.start()
      func parked() throws -> [JSONValue] { try daemon.client().call("parked")["parked"]?.arrayValue ?? [] }
      #expect(try eventually { try parked().map { $0["tries"] } == [2] })
      daemon.end(SIGTERM)
      try daemon.start()
      daemon.folder.replace("rules/wild/plugin.lua", with: Self.wild("error('after all')"))
      _ = try daemon.client().call("reload")
      #expect(
        try eventually { try parked().first?["failure"]?["message"]?.stringValue?.contains("after all") == true })
      #expect(try parked().map { $0["tries"] } == [3])
    }

    @Test
    func `parked events survive a kill and are retried once after a reload that changes their plugin`() throws {
      let failing = "if event.data.n % 2 == 0 then error('odd ones only') end"
      let daemon = try RuledDaemon(rules: Self.rules(failing))
      var client = try daemon.client()
      for n in 1...20 {
        try client.event("tick", "s:\(n % 3)", ["n": .integer(Int64(n))], with: ["id": .string("\(n)")])
      }
      #expect(try client.call("parked")["parked"]?.arrayValue?.count == 10)
      daemon.end(SIGKILL)
      try daemon.start()
      client = try daemon.client()
      #expect(try client.call("parked")["parked"]?.arrayValue?.count == 10)
      daemon.folder.replace("rules/a/plugin.lua", with: Self.good("a") + "\n")
      _ = try client.call("reload")
      #expect(try client.call("parked")["parked"]?[0]?["tries"] == 1)
      let stillWild = Self.wild("if event.data.n % 10 == 0 then error('still') end")
      daemon.folder.replace("rules/wild/plugin.lua", with: stillWild)
      _ = try client.call("reload")
      #expect(
        try eventually {
          let parked = try client.call("parked")["parked"]?.arrayValue ?? []
          return parked.count == 2 && parked.allSatisfy { $0["tries"] == 2 }
        })
      _ = try client.call("reload")
      #expect(try client.call("parked")["parked"]?[0]?["tries"] == 2)
      var sum: Int64 = 0
      for subject in 0..<3 {
        let state = try client.call("state", ["subject": .string("s:\(subject)")])["plugins"]
        sum += state?["wild"]?["n"]?.intValue ?? 0
      }
      #expect(sum == 18)
      #expect(try client.event("tick", "s:1", ["n": 4], with: ["id": "4"])["duplicate"] == true)
    }
  }
}
