import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// A damaged block of one of the store's files affects only the subjects in it.
  @Suite(.oneDaemon("it is about the files of a store")) struct DamagedStoreTests {
    private static let rules = [
      "p/plugin.lua": """
      plugin { name = "p", version = "1" }
      rule "keep" { on = "keep", run = function(event, state) state.mark = event.data.mark end }
      rule "set" { on = "set", run = function(event) timer.set("t", now() + event.data.after, "ring", event.data) end }
      rule "ring" { on = "ring", run = function(event, state) state.rings = (state.rings or 0) + 1 end }
      rule "count" { on = "count", run = function(event) count(event.data.name, {}) end }
      """
    ]

    /// Text that does not compress, so that a test finds it in a file: 45 hexadecimal digits, different for each number.
    private static func mark(_ number: Int) -> String {
      var (state, text) = (UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1, "")
      for _ in 0..<3 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        text += String(String(state, radix: 16).suffix(15))
      }
      return text
    }

    /// A bit of one of the store's files.
    private struct Bit {
      let path: String
      let offset: Int

      var file: String { String(path.split(separator: "/").last ?? "") }

      func flip() throws {
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        var byte: UInt8 = 0
        try #require(pread(descriptor, &byte, 1, off_t(offset)) == 1)
        byte ^= 0x40
        try #require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
      }
    }

    /// Flips a bit of the block that holds the text, in one of the store's files; compression leaves part of the text unchanged.
    private static func damage(_ text: String, in store: String, last isLast: Bool = false) throws -> Bit {
      for start in 0..<text.utf8.count - 10 {
        let part = Array(text.utf8.dropFirst(start).prefix(10))
        for name in TemporaryFolder.names(store) where name.hasSuffix(".sst") {
          guard let offset = place(of: part, in: "\(store)/\(name)", last: isLast) else { continue }
          let bit = Bit(path: "\(store)/\(name)", offset: offset + 2)
          try bit.flip()
          return bit
        }
      }
      throw Client.Gone(description: "'\(text)' is in no file of \(store)")
    }

    private static func place(of text: [UInt8], in path: String, last isLast: Bool) -> Int? {
      let descriptor = open(path, O_RDONLY)
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
      let count = pread(descriptor, &bytes, bytes.count, 0)
      return bytes.withView { bytes in
        func stands(at start: Int) -> Bool {
          bytes.baseAddress.map { memcmp($0 + start, text, text.count) == 0 } ?? false
        }
        let places = 0..<max(0, count - text.count)
        return isLast ? places.last(where: stands) : places.first(where: stands)
      }
    }

    private static func key(_ prefix: String, _ number: Int) -> String {
      "\(prefix):\(String(repeating: "0", count: 4 - "\(number)".count))\(number)"
    }

    @Test
    func `a damaged block is reported once with its file, and only its subjects are refused`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      var client = try daemon.client()
      for n in 0..<600 { try client.event("keep", Self.key("s", n), ["mark": .string(Self.mark(n))]) }
      daemon.end(SIGTERM)
      let file = try Self.damage(Self.mark(300), in: "\(daemon.folder.path)/store").file
      try daemon.start()
      client = try daemon.client()
      #expect(try client.call("health")["status"] == "ready")
      var refused: [Int] = []
      for n in 0..<600 {
        let reply = try client.reply(
          "event", ["type": "keep", "subject": .string(Self.key("s", n)), "data": ["mark": "x"]])
        guard let error = reply["error"] else { continue }
        refused.append(n)
        // Repeats within the minute for which a line stands.
        if n == 300 {
          for _ in 0..<50 { _ = try client.failure("state", ["subject": .string(Self.key("s", n))]) }
        }
        #expect(error["code"] == -32004 && error["data"]?["code"] == "unavailable")
        let message = error["message"]?.stringValue ?? ""
        #expect(message.holds(file) && message.holds("can't be read") && !message.holds("send it again"), "\(message)")
      }
      #expect(refused.contains(300) && refused.count < 100)
      let health = try client.call("health")
      #expect(health["status"] == "degraded")
      #expect(health["problems"]?.text.holds(file) == true, "\(health.text)")
      #expect(health["unreadable"]?.arrayValue?.count == min(refused.count, 20))
      // No backup of a store that is known to be damaged takes the place of an earlier one.
      let backups = daemon.folder("backups")
      for _ in 1...2 {
        let backup = Program.run(
          "\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket, "backup", backups, "--keep", "1"])
        #expect(backup.code == 2 && backup.output.holds("can't be read"), "\(backup.output)")
      }
      #expect(Program.run("/bin/ls", [backups]).output.split(separator: "\n").count == 3)
      let lines = daemon.log.split(separator: "\n").filter { String($0).holds("can't be read") }
      #expect(lines.count == refused.count)
      #expect(lines.allSatisfy { !String($0).holds("s:0") && String($0).holds("subject_hash") })
      // A listing skips them; later writes are in the log and are found.
      let listed = try client.call("subjects", ["limit": 1000])["subjects"]?.arrayValue?.count ?? 0
      #expect(listed == 600 - refused.count)
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      #expect(try daemon.client().event("keep", Self.key("s", 0))["version"] == 3)
    }

    @Test(arguments: [true, false])
    func `unreadable timers are retried with backoff, and the others fire`(isManual: Bool) throws {
      // No timer fires while the clock stands still.
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      var client = try daemon.client()
      for n in 0..<300 {
        let data: JSONValue = ["mark": .string(Self.mark(n)), "after": .integer(isManual ? Int64(100 + n) : 1)]
        try client.event("set", Self.key("t", n), data)
      }
      #expect(daemon.end(SIGTERM) == 0)
      let file = try Self.damage(Self.mark(150), in: "\(daemon.folder.path)/store").file
      daemon.hasManualClock = isManual
      try daemon.start()
      client = try daemon.client()
      if isManual { _ = try client.call("clock", ["advance": "1d"]) }
      func rung() throws -> Int {
        try (0..<300).count {
          let state = try client.reply("state", ["subject": .string(Self.key("t", $0))])
          return state["result"]?["plugins"]?["p"]?["rings"] == 1
        }
      }
      #expect(try eventually { try rung() >= 200 })
      #expect(try rung() < 300)
      func tries() throws -> [Int64] {
        (try client.call("health")["unreadable"]?.arrayValue ?? []).compactMap { $0["count"]?.intValue }
      }
      #expect(try eventually { try !tries().isEmpty })
      #expect(try tries().allSatisfy { $0 < 100 })
      let health = try client.call("health")
      #expect(health["status"] == "degraded" && health["problems"]?.text.holds(file) == true, "\(health.text)")
      if isManual { #expect(try client.call("clock", ["advance": "1d"])["now"] != nil) }
      // The old timers do not delay a new one.
      try client.event("set", "new", ["after": 0])
      if isManual { _ = try client.call("clock", ["advance": "1s"]) }
      #expect(
        try eventually { try client.reply("state", ["subject": "new"])["result"]?["plugins"]?["p"]?["rings"] == 1 })
    }

    @Test
    func `a start works without the counters of a damaged block, and does not overwrite them`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      var client = try daemon.client()
      for n in 0..<400 { try client.event("count", "s", ["name": .string("p.\(Self.mark(n))")]) }
      try client.event("count", "s", ["name": "p.\(Self.mark(200))"])
      #expect(daemon.end(SIGTERM) == 0)
      // Keys with the counters' owners come before them, with the same names.
      let bit = try Self.damage(Self.mark(200), in: "\(daemon.folder.path)/store", last: true)
      try daemon.start()
      client = try daemon.client()
      let health = try client.call("health")
      #expect(health["status"] == "degraded" && health["problems"]?.text.holds(bit.file) == true, "\(health.text)")
      let left = try client.call("counters", ["prefix": "p."]).arrayValue?.count ?? 0
      #expect(left > 200 && left < 400)
      try client.event("count", "s", ["name": "p.\(Self.mark(200))"])
      #expect(try client.call("counters", ["prefix": .string("p.\(Self.mark(200))")])[0]?["value"] == 1)
      #expect(daemon.end(SIGTERM) == 0)
      try bit.flip()  // repairs it
      try daemon.start()
      client = try daemon.client()
      #expect(try client.call("counters", ["prefix": "p."]).arrayValue?.count == 400)
      #expect(try client.call("counters", ["prefix": .string("p.\(Self.mark(200))")])[0]?["value"] == 2)
      #expect(try client.call("health")["status"] == "ready")
    }
  }
}
