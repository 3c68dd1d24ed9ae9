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
    func survivesKills() throws {
      let daemon = try RuledDaemon(rules: Tally.rules)
      let tally = Tally(events: EndToEnd.events, connections: EndToEnd.connections)
      for round in 1...10 {
        let loads = tally.loads
        let socket = daemon.socket
        let threads = Threads.start(loads.count) { loads[$0].run(socket) }
        while tally.answered < tally.events * round / 11 { usleep(1000) }
        #expect(daemon.end(SIGKILL) == -SIGKILL)
        Threads.join(threads)
        try daemon.start()
      }
      tally.run(daemon)
      try tally.expectApplied(daemon)
    }
  }
}
