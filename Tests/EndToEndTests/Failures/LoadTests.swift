import Glibc
import RuledCore
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct LoadTests {
    @Test
    func `16,000 events pipelined over 8 connections give each subject the right state`() throws {
      let daemon = try RuledDaemon(rules: Tally.rules)
      let tally = Tally(events: EndToEnd.events, connections: EndToEnd.connections)
      tally.run(daemon)
      try tally.expectApplied(daemon)
      #expect(tally.loads.allSatisfy { $0.duplicates == 0 })
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test
    func `six kills during 16,000 events lose nothing acknowledged and apply nothing twice`() throws {
      try kill(6, Tally.rules, events: EndToEnd.events)
    }

    @Test
    func `kills while segments of the log are flushed lose nothing acknowledged and apply nothing twice`() throws {
      var rules = Tally.rules
      rules["wordy/plugin.lua"] = """
        plugin { name = "wordy", version = "1" }
        rule "fill" { on = "hit", run = function() decide("words", string.rep("x", 10000)) end }
        """
      try kill(4, rules, events: 12_000)
    }

    /// A commit gets its counters when it is written to the log.
    ///
    /// The log once made room at the end of a segment for the rest alone, and the worker tried for ever.
    @Test
    func `commits that consist of counters are written at the ends of segments`() throws {
      let daemon = try RuledDaemon(rules: [
        "counting/plugin.lua": """
        plugin { name = "counting", version = "1" }
        local long = string.rep("x", 450)
        rule "count" { on = "hit", run = function()
          for number = 1, 100 do count("counting.hits", { number = tostring(number), long = long }) end
        end }
        """
      ])
      let load = Load((1...1_700).map { Load.event("e\($0)", "hit", "s\($0 % 16)", "{}") }, window: 1)
      load.run(daemon.socket)
      #expect(load.isDone && load.errors.isEmpty)
      #expect(daemon.end(SIGTERM) == 0)
    }

    /// Kills the daemon that many times under load, restarts it each time, and checks the data in the end.
    private func kill(_ times: Int, _ rules: [String: String], events: Int) throws {
      let daemon = try RuledDaemon(rules: rules)
      let tally = Tally(events: events, connections: EndToEnd.connections)
      for round in 1...times {
        let loads = tally.loads
        let socket = daemon.socket
        let threads = Threads.start(loads.count) { loads[$0].run(socket) }
        #expect(eventually { tally.answered >= tally.events * round / (times + 1) })
        #expect(daemon.end(SIGKILL) == -SIGKILL)
        Threads.join(threads)
        try daemon.start()
      }
      tally.run(daemon)
      try tally.expectApplied(daemon)
    }
  }
}

extension EndToEnd {
  @Suite struct EditTests {
    /// A rule that decides its own number.
    private static func rules(_ number: Int) -> String {
      """
      plugin { name = "numbered", version = "\(number)" }
      rule "tell" { on = "ask", run = function(event, state)
        state.asked = (state.asked or 0) + 1
        decide("number", \(number))
      end }
      """
    }

    /// Clients that send requests until they are stopped.
    private final class Askers: Sendable {
      private let isOver = Atomic<Bool>(false)
      private let failures = Mutex<[String]>([])
      private let asked = Atomic<Int>(0)
      private let member: String

      /// Clients that send events, or dry runs, which store nothing.
      init(dryRuns: Bool = false) { member = dryRuns ? ",\"dryrun\":true" : "" }

      /// How many requests were answered.
      var count: Int { asked.load(ordering: .relaxed) }

      /// Sends requests over some connections while `body` runs; returns answers without a decision or with a failure.
      func around(_ daemon: RuledDaemon, _ body: () throws -> Void) rethrows -> [String] {
        let socket = daemon.socket
        let threads = Threads.start(3) { [self] thread in
          var round = 0
          while !isOver.load(ordering: .relaxed) {
            round += 1
            let requests = (0..<64).map {
              Load.event("\(thread).\(round).\($0)", "ask", "asker:\(thread)-\($0 % 8)", "{}\(member)")
            }
            let load = Load(requests, window: 64)
            load.run(socket) { line in
              self.asked.wrappingAdd(1, ordering: .relaxed)
              guard line.holds("\"number\":"), line.holds("\"failures\":[]") else {
                return self.failures.withLock { $0.append(line) }
              }
            }
            if !load.isDone { failures.withLock { $0.append("a connection broke") } }
          }
        }
        defer {
          isOver.store(true, ordering: .relaxed)
          Threads.join(threads)
        }
        try body()
        return failures.withLock { $0 }
      }
    }

    /// Waits until the answers have a number.
    private func waitFor(_ number: Int, _ daemon: RuledDaemon) throws {
      let client = try daemon.client()
      var last: JSONValue?
      let isDecided = try eventually {
        last = try client.event("ask", "waiting")["decisions"]?["numbered"]?["number"]
        return last == .integer(Int64(number))
      }
      #expect(isDecided, "\(number) was not decided, but \(last?.text ?? "nothing")\n\(daemon.log)")
    }

    @Test
    func `a rule edited under load changes the next answers and fails no request`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let failures = try Askers().around(daemon) {
        try waitFor(1, daemon)
        daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(2))
        try waitFor(2, daemon)
        daemon.folder.write("rules/numbered/plugin.lua", Self.rules(3))
        try waitFor(3, daemon)
        daemon.folder.replace("staged/numbered/plugin.lua", with: Self.rules(4))
        rename("\(daemon.folder.path)/rules/numbered", "\(daemon.folder.path)/numbered.old")
        rename("\(daemon.folder.path)/staged/numbered", "\(daemon.folder.path)/rules/numbered")
        try waitFor(4, daemon)
      }
      let wrong = failures.filter { !$0.holds("\"decisions\":{},\"effects\":[],\"failures\":[]") }
      #expect(wrong.isEmpty, "\(wrong.count), such as \(wrong.first ?? "")")
    }

    @Test
    func `rules behind links within the folder are reloaded when a link or its target changes`() throws {
      let daemon = try RuledDaemon(rules: [:])
      let path = daemon.folder.path
      daemon.folder.replace("rules/.one/plugin.lua", with: Self.rules(1))
      daemon.folder.replace("rules/.two/plugin.lua", with: Self.rules(2))
      symlink(".one", "\(path)/rules/numbered")
      try waitFor(1, daemon)
      let failures = try Askers().around(daemon) {
        symlink("\(path)/rules/.two", "\(path)/link")
        rename("\(path)/link", "\(path)/rules/numbered")
        try waitFor(2, daemon)
        daemon.folder.replace("rules/.two/plugin.lua", with: Self.rules(3))
        try waitFor(3, daemon)
      }
      #expect(failures.isEmpty, "\(failures.count), such as \(failures.first ?? "")")
    }

    @Test
    func `an edit that does not load leaves the old rules in force and reports file and line, until it is fixed`()
      throws
    {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let client = try daemon.client()
      let revision = try client.call("rules")["revision"]
      let failures = try Askers().around(daemon) {
        daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(2) + "\nrule \"broken\" {")
        var errors: JSONValue = []
        let isReported = try eventually {
          errors = try client.call("rules")["errors"] ?? []
          return errors != []
        }
        #expect(isReported)
        #expect(errors[0]?["file"] == "numbered/plugin.lua")
        #expect(errors[0]?["line"] == 6)
        #expect(errors[0]?["message"]?.stringValue?.isEmpty == false)
        #expect(try client.call("rules")["revision"] == revision)
        #expect(try client.event("ask", "a")["decisions"]?["numbered"]?["number"] == 1)
        let error = try client.failure("reload")
        #expect(error["code"] == -32006)
        #expect(error["data"]?["code"] == "reload_failed")
        #expect(error["data"]?["errors"]?[0]?["file"] == "numbered/plugin.lua")
        daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(3))
        try waitFor(3, daemon)
      }
      #expect(try client.call("rules")["errors"] == [])
      #expect(failures.isEmpty, "\(failures.count), such as \(failures.first ?? "")")
    }

    @Test(.oneDaemon("it measures one process"))
    func `200 reloads under load fail no request and leak neither memory nor files`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": Self.rules(1)])
      let client = try daemon.client()
      var memory = (early: 0, late: 0)
      var files = (early: 0, late: 0)
      let askers = Askers(dryRuns: true)
      let failures = try askers.around(daemon) {
        for number in 1...EndToEnd.reloads {
          daemon.folder.replace("rules/numbered/plugin.lua", with: Self.rules(number))
          _ = try client.call("reload")
          let decided = try client.event("ask", "asker:main")["decisions"]?["numbered"]?["number"]
          #expect(decided == .integer(Int64(number)))
          if number == 10 { (memory.early, files.early) = (daemon.residentKiB, daemon.openFiles) }
        }
        #expect(eventually { askers.count > 0 })
        (memory.late, files.late) = (daemon.residentKiB, daemon.openFiles)
      }
      #expect(failures.isEmpty, "\(failures.count), such as \(failures.first ?? "")")
      #expect(files.late <= files.early + 8)
      #expect(memory.late <= memory.early + 24 * 1024)
    }
  }
}
