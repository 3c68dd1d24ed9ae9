import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// With limits that are too low, the daemon says so and ends, or serves without damage.
  @Suite(.oneDaemon("it is about the limits of one process")) struct ProcessLimitTests {
    private static let rules = [
      "p/plugin.lua": """
      plugin { name = "p", version = "1" }
      rule "keep" { on = "keep", run = function(event, state) state.mark = event.data.mark end }
      """
    ]

    /// Starts the daemon in a shell with a limit; returns its exit code and output.
    private func start(
      _ preparation: String, _ options: [String] = [], as user: String = ""
    ) -> (code: Int32, output: String) {
      let folder = TemporaryFolder()
      chmod(folder.path, 0o777)
      for (name, text) in Self.rules { folder.replace("rules/\(name)", with: text) }
      let words = [
        "--rules", "\(folder.path)/rules", "--socket", "\(folder.path)/s", "--store", "rocksdb:\(folder.path)/store",
      ]
      let line = "\(preparation); exec \(user) timeout 120 \"$0\" \"$@\""
      return Program.run("bash", ["-c", line, "\(RuledDaemon.programs)/ruled"] + words + options)
    }

    @Test(arguments: [
      ("ulimit -n 40", "ulimit -n"), ("ulimit -v 400000", "ulimit -v"), ("ulimit -d 300000", "ulimit -d"),
      ("ulimit -s 128", "ulimit -s"), ("ulimit -f 4000", "ulimit -f"),
    ])
    func `a limit that is too low fails the start and the check with a message that says what to raise`(
      preparation: String, option: String
    ) {
      let end = start(preparation)
      #expect(end.code == 2)
      // Under systemd it is not tried again.
      #expect(start("\(preparation); export NOTIFY_SOCKET=/nobody").code == 78)
      #expect(end.output.hasPrefix("ruled: ") && end.output.holds(option), "\(end.output)")
      #expect(end.output.split(separator: "\n").count == 1, "\(end.output)")
      let check = start(preparation, ["--check"])
      #expect(check.code == 1 && check.output.holds(option), "\(check.output)")
    }

    @Test func `with the open files and the memory that a refusal asks for, the daemon starts and serves`() throws {
      func needed(_ preparation: String) throws -> Int {
        let words = start(preparation, ["--check"]).output.split(separator: " ")
        return try #require(words.firstIndex { $0.hasPrefix("needed") }.flatMap { Int(words[$0 - 2]) }, "\(words)")
      }
      let files = try needed("ulimit -n 100")
      let room = try needed("ulimit -v 1000000") + 200
      #expect(start("ulimit -n \(files - 1)", ["--check"]).code == 1)
      #expect(start("ulimit -v \((room - 300) << 10)", ["--check"]).code == 1)
      let daemon = try RuledDaemon(
        rules: Self.rules, preparation: "ulimit -n \(files); ulimit -v \(room << 10)")
      let client = try daemon.client()
      for number in 0..<50 { #expect(try client.event("keep", "s:\(number)")["failures"] == []) }
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test(.enabled(if: getuid() == 0))
    func `too few threads fail the start with a message that says so`() {
      let end = start("ulimit -u 5", as: "setpriv --reuid=54321 --clear-groups")
      #expect(end.code == 2)
      #expect(end.output.hasPrefix("ruled: ") && end.output.holds("ulimit -u"), "\(end.output)")
    }

    @Test
    func `soft limits are raised, and locked memory is not needed`() throws {
      let daemon = try RuledDaemon(
        rules: Self.rules, preparation: "ulimit -Sn 40; ulimit -Ss 128; ulimit -Sf 4000; ulimit -l 0")
      let clients = try (0..<100).map { _ in try daemon.client() }
      for client in clients { #expect(try client.call("health")["status"] == "ready") }
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test
    func `connections never use the descriptors that the store needs for its next segments`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, preparation: "ulimit -n 200")
      #expect(daemon.log.holds("leave room for"))
      var clients: [Client] = []
      var refused = 0
      for _ in 0..<190 {
        guard let client = try? daemon.client() else { continue }
        if let reply = try? client.reply("health"), reply["result"] != nil {
          clients.append(client)
        } else {
          refused += 1
        }
      }
      #expect(clients.count >= 16 && refused > 0)
      let mark = String(repeating: "x", count: 250_000)
      for n in 0..<300 {
        let client = clients[n % clients.count]
        client.send(Load.event("\(n)", "keep", "s:\(n % 5)", "{\"mark\":\"\(mark)\"}").line)
        let reply = try JSONValue(parsing: try #require(client.line()))
        guard reply["result"]?["version"] == .integer(Int64(n / 5 + 1)) else {
          Issue.record("\(reply.text.prefix(500))")
          return
        }
      }
      #expect(try clients[0].call("health")["status"] == "ready")
      clients.removeAll()
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      #expect(try daemon.client().call("state", ["subject": "s:4"])["version"] == 60)
    }
  }
}
