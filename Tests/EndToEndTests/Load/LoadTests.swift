import Glibc
import RuledCore
import Testing

extension EndToEnd {
  @Suite struct LoadTests {
    @Test("100,000 events pipelined over 8 connections leave each subject's state right")
    func pipelines() throws {
      let daemon = try RuledDaemon(rules: Tally.rules)
      let tally = Tally(events: EndToEnd.events, connections: EndToEnd.connections)
      tally.run(daemon)
      try tally.expectApplied(daemon)
      #expect(tally.loads.allSatisfy { $0.duplicates == 0 })
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test("killed ten times in the middle of 100,000 events, nothing acknowledged is lost and nothing applied twice")
    func survivesKills() throws { try kill(10, Tally.rules, events: EndToEnd.events) }

    @Test(
      "killed while full segments of the log are brought into the database, nothing is lost and nothing applied twice")
    func survivesKillsOfDrains() throws {
      var rules = Tally.rules
      rules["wordy/plugin.lua"] = """
        plugin { name = "wordy", version = "1" }
        rule "fill" { on = "hit", run = function() decide("words", string.rep("x", 10000)) end }
        """
      try kill(6, rules, events: 20_000)
    }

    /// Kills the daemon so often while it works, starts it again each time, and looks at what is there in the end.
    private func kill(_ times: Int, _ rules: [String: String], events: Int) throws {
      let daemon = try RuledDaemon(rules: rules)
      let tally = Tally(events: events, connections: EndToEnd.connections)
      for round in 1...times {
        let loads = tally.loads
        let socket = daemon.socket
        let threads = Threads.start(loads.count) { loads[$0].run(socket) }
        while tally.answered < tally.events * round / (times + 1) { usleep(1000) }
        #expect(daemon.end(SIGKILL) == -SIGKILL)
        Threads.join(threads)
        try daemon.start()
      }
      tally.run(daemon)
      try tally.expectApplied(daemon)
    }
  }
}
