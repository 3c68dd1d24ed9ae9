import Glibc
import RuledCore
import RuledJSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  /// Backups of a daemon under load, and what is restored from them.
  @Suite(.oneDaemon("it is about the files of a store")) struct BackupTests {
    private static let rules: [String: String] = {
      var rules = Tally.rules
      rules["wordy/plugin.lua"] = """
        plugin { name = "wordy", version = "1" }
        rule "fill" { on = "hit", run = function() decide("words", string.rep("x", 10000)) end }
        """
      return rules
    }()

    /// The highest event of each subject that was acknowledged.
    private final class Acknowledged: Sendable {
      private let last = Mutex<[String: Int64]>([:])

      /// Notes a reply, whose id is `CONNECTION.SUBJECT.NUMBER`.
      func note(_ reply: String) {
        guard !reply.holds("\"error\":{"), let start = reply.place(of: "\"id\":\"") else { return }
        let id = String(decoding: reply.utf8.dropFirst(start + 6).prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        let parts = id.split(separator: ".")
        guard parts.count == 3, let number = Int64(parts[2]) else { return }
        last.withLock { $0["hitter:\(parts[0])-\(parts[1])"] = number }
      }

      var subjects: [String: Int64] { last.withLock { $0 } }
    }

    private func rulectl(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
    }

    private func restore(_ backup: String, to store: String, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/ruled", ["--restore", backup, "--store", "rocksdb:\(store)"] + words)
    }

    /// Expects that the store holds the first events of each subject with all that they caused, at least those that were acknowledged.
    private func expectWhole(_ store: String, _ acknowledged: [String: Int64]) throws {
      let daemon = try RuledDaemon(rules: Self.rules, store: "rocksdb:\(store)")
      let client = try daemon.client()
      let subjects = try client.call("subjects", ["prefix": "hitter:", "limit": 1000])["subjects"]?.arrayValue ?? []
      #expect(Set(acknowledged.keys).isSubset(of: subjects.compactMap(\.stringValue)))
      var (hits, tens) = (Int64(0), Int64(0))
      for subject in subjects {
        let exported = try client.call("export", ["subject": subject])
        let state = exported["plugins"]?["tally"] ?? exported["state"]?["tally"]
        let last = try #require(state?["last"]?.intValue, "\(exported.text.prefix(1000))")
        #expect(last >= acknowledged[subject.stringValue ?? ""] ?? 0)
        #expect(state?["count"] == .integer(last) && state?["disorder"] == nil)
        #expect(state?["sum"] == .integer(last * (last + 1) / 2))
        #expect(state?["sevens"] == .integer((last + 6) / 7))
        #expect(exported["effects"]?.arrayValue?.count == Int(last / 10))
        hits += last
        tens += last / 10
      }
      #expect(try client.call("counters", ["prefix": "tally.hits"])[0]?["value"] == .integer(hits))
      #expect(
        try eventually {
          let waiting = try client.call("health")["messages"]?["waiting"]
          let applied = try client.call("counters", ["prefix": "tally.tens"])[0]?["value"]
          return waiting == 0 && applied == .integer(tens)
        })
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test
    func
      `backups under load hold whole commits, and all that was acknowledged before they began; the daemon is killed in between`()
      throws
    {
      let daemon = try RuledDaemon(rules: Self.rules)
      let tally = Tally(events: 4_000, connections: EndToEnd.connections)
      let acknowledged = Acknowledged()
      let (loads, socket) = (tally.loads, daemon.socket)
      let threads = Threads.start(loads.count) { loads[$0].run(socket) { acknowledged.note($0) } }
      let folder = daemon.folder("backups")
      var taken: [(path: String, acknowledged: [String: Int64])] = []
      for round in 1...2 {
        #expect(eventually { tally.answered >= tally.events * round / 4 })
        let before = acknowledged.subjects
        let backup = rulectl(daemon, "backup", folder, "--json")
        #expect(backup.code == 0, "\(backup.output)")
        let path = try JSONValue(parsing: backup.output)["backup"]?.stringValue
        taken.append((try #require(path), before))
      }
      #expect(daemon.end(SIGKILL) == -SIGKILL)
      Threads.join(threads)
      #expect(taken.last?.acknowledged.isEmpty == false)
      for (number, backup) in taken.enumerated() {
        let store = daemon.folder("restored\(number)")
        let restored = restore(backup.path, to: store)
        #expect(restored.code == 0 && restored.output.holds("all of it can be read"), "\(restored.output)")
        try expectWhole(store, backup.acknowledged)
      }
      try daemon.start()
      tally.run(daemon)
      try tally.expectApplied(daemon)
    }

    @Test
    func `a backup has the archive of revisions, so that what is restored can go back to earlier rules`() throws {
      func rules(_ number: Int) -> String {
        "plugin { name = 'numbered' } rule 'tell' { on = 'ask', run = function() decide('number', \(number)) end }"
      }
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": rules(1)])
      for number in 2...3 {
        daemon.folder.replace("rules/numbered/plugin.lua", with: rules(number))
        _ = try daemon.client().call("reload")
      }
      let known = try daemon.client().call("revisions").arrayValue?.map { $0["revision"] }
      #expect(known?.count == 3)
      for _ in 0..<2 { #expect(rulectl(daemon, "backup", daemon.folder("backups")).code == 0) }
      #expect(daemon.end(SIGTERM) == 0)
      let restored = restore(daemon.folder("backups"), to: daemon.folder("restored"))
      #expect(restored.code == 0, "\(restored.output)")
      let other = try RuledDaemon(
        rules: ["numbered/plugin.lua": rules(3)], store: "rocksdb:\(daemon.folder("restored"))")
      let client = try other.client()
      #expect(try client.call("revisions").arrayValue?.map { $0["revision"] } == known)
      #expect(try client.call("rollback")["revision"] == known?[1])
      #expect(try client.event("ask", "a")["decisions"]?["numbered"]?["number"] == 2)
    }

    @Test
    func `a backup during which the daemon or rulectl is killed is none, and the one before is restored`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      let tally = Tally(events: 4_000, connections: EndToEnd.connections)
      tally.run(daemon)
      let folder = daemon.folder("backups")
      #expect(rulectl(daemon, "backup", folder).code == 0)
      for microseconds in [0, 5_000, 20_000, 60_000] {
        let process = Program.spawn(
          "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "backup", folder], output: daemon.folder("out")
        )
        usleep(UInt32(microseconds))
        if microseconds % 3 == 0 {
          kill(process, SIGKILL)
          _ = Program.wait(process)
        } else {
          daemon.end(SIGKILL)
          _ = Program.wait(process)
          try daemon.start()
        }
      }
      // the daemon may still make the checkpoint that the killed rulectl asked for
      var last: (code: Int32, output: String) = (1, "")
      let isFree = eventually {
        last = rulectl(daemon, "backup", folder, "--keep", "1")
        return !last.output.holds("another backup is being taken")
      }
      #expect(isFree && last.code == 0, "\(last.output)")
      let names = TemporaryFolder.names(folder).sorted()
      #expect(names.count == 2 && names.last == "latest", "\(names)")
      #expect(!TemporaryFolder.names(daemon.folder("store")).contains { $0.hasPrefix("checkpoint-") })
      #expect(restore(folder, to: daemon.folder("restored")).code == 0)
    }

    @Test
    func `no earlier backup is removed for one that can't be read`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      Tally(events: 400, connections: EndToEnd.connections).run(daemon)
      daemon.end(SIGTERM)
      try daemon.start()
      let folder = daemon.folder("backups")
      for _ in 0..<2 { #expect(rulectl(daemon, "backup", folder, "--keep", "1").code == 0) }
      let first = TemporaryFolder.names(folder).filter { $0 != "latest" }
      #expect(first.count == 1)
      let tables = TemporaryFolder.names("\(folder)/latest").filter { $0.hasSuffix(".sst") }
      #expect(!tables.isEmpty)
      for table in tables {
        let file = open("\(folder)/latest/\(table)", O_WRONLY)
        #expect(pwrite(file, "damage", 6, 100) == 6)
        close(file)
      }
      let (code, output) = rulectl(daemon, "backup", folder, "--keep", "1")
      #expect(code == 2 && output.holds("so no earlier backup was removed"), "\(output)")
      #expect(TemporaryFolder.names(folder).count == 3 && TemporaryFolder.names(folder).contains(first[0]))
    }

    @Test
    func `a backup into the store's own folder is refused, and leaves nothing there`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      _ = try daemon.client().call("health")
      for path in [daemon.folder("store"), daemon.folder("store/backups")] {
        let refused = rulectl(daemon, "backup", path)
        #expect(refused.code == 2 && refused.output.holds("is in the store's own folder"), "\(refused.output)")
      }
      let names = TemporaryFolder.names(daemon.folder("store"))
      #expect(!names.contains("backups") && !names.contains { $0.hasPrefix("checkpoint-") }, "\(names)")
      #expect(rulectl(daemon, "backup", daemon.folder("backups")).code == 0)
    }

    @Test
    func `a backup goes to another file system, where links are not possible`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      let tally = Tally(events: 800, connections: EndToEnd.connections)
      tally.run(daemon)
      var template = Array("/dev/shm/ruled-XXXXXX".utf8CString)
      try #require(mkdtemp(&template) != nil)
      let folder = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      defer { TemporaryFolder.remove(folder) }
      let first = try JSONValue(parsing: rulectl(daemon, "backup", folder, "--json").output)
      #expect(first["shared_bytes"] == 0)
      let second = try JSONValue(parsing: rulectl(daemon, "backup", folder, "--json").output)
      #expect(second["bytes"]?.intValue ?? 0 > 0)
      #expect(restore(folder, to: daemon.folder("restored")).code == 0)
      try expectWhole(daemon.folder("restored"), [:])
    }

    @Test
    func `a store restored with --hold-effects delivers nothing until the effects are released, over restarts`() throws
    {
      let rules = [
        "p/plugin.lua": """
        plugin { name = "p", version = "1", sinks = { "lines" } }
        rule "tell" { on = "tell", run = function(event) emit("lines", "told", { n = event.data.n }) end }
        """
      ]
      let daemon = try RuledDaemon(rules: rules)
      try daemon.client().event("tell", "a:1", ["n": 1])
      #expect(rulectl(daemon, "backup", daemon.folder("backups")).code == 0)
      let store = daemon.folder("restored")
      #expect(restore(daemon.folder("backups"), to: store, "--hold-effects").code == 0)
      let lines = daemon.folder("lines")
      let held = try RuledDaemon(
        rules: rules, configuration: "sinks = { lines = { file = \"\(lines)\" } }", store: "rocksdb:\(store)")
      for number in 2...3 {
        try held.client().event("tell", "a:\(number)", ["n": .integer(Int64(number))])
        let health = try held.client().call("health")
        #expect(health["effects_held"] == true)
        #expect(health["problems"]?.text.holds("held back") == true)
        #expect(TemporaryFolder.read(lines).isEmpty)
        if number == 2 {
          held.end(SIGKILL)
          try held.start()
        }
      }
      let released = rulectl(held, "effects", "release")
      #expect(released.code == 0 && released.output.holds("are delivered from now on"), "\(released.output)")
      #expect(eventually { TemporaryFolder.read(lines).split(separator: "\n").count == 3 })
      #expect(try held.client().call("release")["released"] == false)
      #expect(try held.client().call("health")["effects_held"] == false)
    }

    @Test
    func `over HTTP an administrator gets a checkpoint, which is a store; a store in memory has none`() throws {
      func post(_ path: String, to daemon: RuledDaemon) throws -> (status: String, body: JSONValue) {
        let client = try daemon.client()
        client.send("POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        var response: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(client.descriptor, &part, part.count, 0), count > 0 { response += part[..<count] }
        let text = String(decoding: response, as: UTF8.self)
        let body = text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] }
        return (String(text.prefix { $0 != "\r\n" }), try JSONValue(parsing: String(body ?? "")))
      }
      let daemon = try RuledDaemon(rules: Self.rules)
      try daemon.client().event("hit", "hitter:0-0", ["n": 1])
      let (status, answer) = try post("/v1/backup", to: daemon)
      #expect(status.hasPrefix("HTTP/1.1 200"))
      let checkpoint = try #require(answer["checkpoint"]?.stringValue)
      #expect(checkpoint.hasPrefix(daemon.folder("store")) && answer["took_ms"]?.intValue != nil)
      #expect(!TemporaryFolder.names(checkpoint).filter { $0.hasSuffix(".sst") || $0 == "CURRENT" }.isEmpty)
      #expect(try post("/v1/release", to: daemon).body == ["released": false])
      daemon.end(SIGTERM)
      let memory = try RuledDaemon(rules: Self.rules, store: "memory:")
      let refused = try post("/v1/backup", to: memory)
      #expect(refused.status.hasPrefix("HTTP/1.1 503") && refused.body["data"]?["code"] == "unavailable")
      memory.end(SIGTERM)
    }

    @Test
    func `a store that can't be backed up or restored is refused with a reason`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, store: "memory:")
      let backup = rulectl(daemon, "backup", daemon.folder("backups"))
      #expect(backup.code == 2 && backup.output.holds("a store in memory has no backups"), "\(backup.output)")
      #expect(access(daemon.folder("backups"), F_OK) != 0, "a refused backup leaves no folder")
      daemon.folder.makeFolder("backups")
      let nothing = restore(daemon.folder("backups"), to: daemon.folder("restored"))
      #expect(nothing.code == 2 && nothing.output.holds("there is no backup in"), "\(nothing.output)")
      let alone = Program.run("\(RuledDaemon.programs)/ruled", ["--hold-effects", "--store", "memory:"])
      #expect(alone.code == 2 && alone.output.holds("belongs to --restore"), "\(alone.output)")
    }
  }
}
