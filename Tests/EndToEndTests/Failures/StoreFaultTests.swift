import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  @Suite(.oneDaemon("it is about the disk of a store")) struct StoreFaultTests {
    /// A small file system, unmounted when it is released.
    private final class SmallDisk {
      /// Whether this process may mount one.
      static let isAvailable = SmallDisk() != nil
      let folder = TemporaryFolder()

      init?() {
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=24m") == 0 else { return nil }
      }

      deinit { umount2(folder.path, Int32(MNT_DETACH)) }

      /// Uses up all free space.
      func fill() {
        let descriptor = open("\(folder.path)/ballast", O_WRONLY | O_CREAT | O_APPEND, 0o644)
        defer { close(descriptor) }
        let block = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
      }

      /// Frees the space again.
      func clear() { unlink("\(folder.path)/ballast") }
    }

    @Test func `nothing is acknowledged once the store's folder was removed`() throws {
      let daemon = try RuledDaemon(rules: Tally.rules)
      let client = try daemon.client()
      let event: JSONValue = ["type": "hit", "subject": "s", "data": ["n": 1, "to": "collector:0"]]
      #expect(try client.reply("event", event)["result"]?["version"] == 1)
      TemporaryFolder.remove(daemon.store)
      #expect(try client.reply("event", event)["error"]?["data"]?["code"] == "outcome_unknown")
      for _ in 0..<3 { #expect(try client.reply("event", event)["error"]?["data"]?["code"] == "unavailable") }
      let health = try client.call("health")
      #expect(health["status"] == "degraded")
      #expect(health["problems"]?.text.contains("was removed while the daemon ran") == true, "\(health.text)")
    }

    @Test(.enabled(if: SmallDisk.isAvailable))
    func `the check finds a disk that is too full for a start`() throws {
      let disk = try #require(SmallDisk())
      disk.fill()
      let daemon = try RuledDaemon(rules: Tally.rules)
      let words = ["--rules", daemon.folder("rules"), "--store", "rocksdb:\(disk.folder.path)/store"]
      let found = Program.run("\(RuledDaemon.programs)/ruled", words + ["--socket", daemon.folder("t"), "--check"])
      #expect(found.code == 1 && found.output.contains("store: no space is left on the disk"), "\(found.output)")
      #expect(daemon.rival(socket: daemon.folder("t"), store: "rocksdb:\(disk.folder.path)/store").code == 2)
    }

    @Test(.enabled(if: SmallDisk.isAvailable))
    func `on a full disk events are unavailable and not applied, the daemon is degraded, and it recovers`() throws {
      let disk = try #require(SmallDisk())
      let daemon = try RuledDaemon(rules: Tally.rules, store: "rocksdb:\(disk.folder.path)/store")
      let client = try daemon.client()
      func hit(_ n: Int, _ connection: Client) throws -> JSONValue {
        try connection.reply(
          "event",
          [
            "type": "hit", "subject": "s", "id": .string("\(n)"),
            "data": ["n": .integer(Int64(n)), "to": "collector:0"],
          ])
      }
      for n in 1...20 { #expect(try hit(n, client)["result"]?["version"] == .integer(Int64(n))) }
      var refusals = 0
      for filler in 0..<20_000 where refusals < 20 {
        disk.fill()
        let data = JSONValue.string(String(repeating: "x", count: 2000))
        let error = try client.failure(
          "event", ["type": "none", "subject": "f", "id": .string("\(filler)"), "data": data])
        refusals = error == .null ? 0 : refusals + 1
        if error != .null { #expect(error["code"] == -32004 && error["data"]?["code"] == "unavailable") }
      }
      #expect(refusals == 20)
      for n in 21...60 {
        let error = try hit(n, client)["error"]
        #expect(error?["code"] == -32004, "\(error?.text ?? "no error")")
      }
      client.send(
        "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"type\":\"hit\",\"subject\":\"s\",\"data\":{\"n\":0}}}\n"
      )
      #expect(try client.call("health")["status"] == "degraded")
      #expect(try eventually { try client.reply("state", ["subject": "s"])["result"] != nil })
      let state = try client.call("state", ["subject": "s"])
      #expect(state["version"] == 20)
      #expect(state["plugins"]?["tally"]?["count"] == 20)
      let waiting: JSONObject = [
        "type": "hit", "subject": "w", "id": "1", "data": ["n": 10, "to": "c"], "wait": "cascade",
      ]
      #expect(try client.failure("event", .object(waiting))["code"] == -32004)
      disk.clear()
      var reply: JSONValue = .null
      let isAnswered = try eventually {
        reply = try hit(21, client)
        return reply["result"] != nil
      }
      #expect(isAnswered)
      #expect(reply["result"]?["duplicate"] == false && reply["result"]?["version"] == 21, "\(reply.text)")
      for n in 22...60 { #expect(try hit(n, client)["result"]?["version"] == .integer(Int64(n))) }
      #expect(try client.call("health")["status"] == "ready")
      #expect(try client.call("event", .object(waiting))["version"] == 1)
      #expect(try client.call("state", ["subject": "s"])["plugins"]?["tally"]?["disorder"] == nil)
      #expect(try client.call("counters", ["prefix": "tally.hits"])[0]?["value"] == 61)
      #expect(daemon.end(SIGKILL) == -SIGKILL)
      try daemon.start()
      #expect(try daemon.client().call("state", ["subject": "s"])["plugins"]?["tally"]?["count"] == 60)
      #expect(try daemon.client().call("counters", ["prefix": "tally.hits"])[0]?["value"] == 61)
    }

    @Test(.enabled(if: SmallDisk.isAvailable))
    func `a disk that fills up repeatedly under load loses nothing acknowledged and applies nothing twice`() throws {
      let disk = try #require(SmallDisk())
      let daemon = try RuledDaemon(rules: Tally.rules, store: "rocksdb:\(disk.folder.path)/store")
      let tally = Tally(events: 4_000, connections: 4)
      let client = try daemon.client()
      for round in 1...4 {
        let (loads, socket) = (tally.loads, daemon.socket)
        let threads = Threads.start(loads.count) { loads[$0].run(socket) }
        #expect(eventually { tally.answered >= tally.events * round / 5 })
        disk.fill()
        #expect(
          try eventually {
            try client.call("health")["status"] == "degraded" || tally.loads.allSatisfy(\.isDone)
          })
        Threads.join(threads)
        disk.clear()
        #expect(try eventually { try client.call("health")["status"] == "ready" })
        for load in tally.loads { load.resendFailed() }
      }
      tally.run(daemon)
      try tally.expectApplied(daemon, inOrder: false)
    }

    @Test
    func `SIGXFSZ, which a limit on file sizes raises, does not end the daemon`() throws {
      let daemon = try RuledDaemon(rules: Tally.rules)
      daemon.signal(SIGXFSZ)
      #expect(try daemon.client().call("health")["status"] == "ready")
      #expect(daemon.end(SIGTERM) == 0)
    }
  }
}
