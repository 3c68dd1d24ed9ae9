import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct SocketTests {
    private let rules = LineTests.rules

    private func mode(_ path: String) -> UInt32 {
      var status = stat()
      return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test
    func `the socket has mode 0660, and a clean end removes it`() throws {
      let daemon = try RuledDaemon(rules: rules)
      #expect(mode(daemon.socket) == 0o660)
      #expect(daemon.end(SIGTERM) == 0)
      #expect(access(daemon.socket, F_OK) != 0)
    }

    @Test(.oneDaemon("it is about the socket's file"))
    func `a socket file that a killed daemon left is replaced`() throws {
      let daemon = try RuledDaemon(rules: rules)
      daemon.end(SIGKILL)
      #expect(access(daemon.socket, F_OK) == 0)
      try daemon.start()
      #expect(try daemon.client().call("health")["status"] == "ready")
    }

    @Test(.oneDaemon("it is about the socket's file"))
    func `a second daemon on a live socket is refused with one line that names it, and the first keeps serving`() throws
    {
      let daemon = try RuledDaemon(rules: rules)
      let rival = daemon.rival(store: "memory:")
      #expect(rival.code == 2)
      #expect(rival.output.holds(daemon.socket), "\(rival.output)")
      #expect(rival.output.split(separator: "\n").count == 1)
      #expect(try daemon.client().call("health")["status"] == "ready")
    }

    @Test(.oneDaemon("it is about the store's folder"))
    func `a second daemon on the same store is refused with one line that names it, and leaves no socket`() throws {
      let daemon = try RuledDaemon(rules: rules)
      let other = "\(daemon.folder.path)/other"
      let rival = daemon.rival(socket: other)
      #expect(rival.code == 2)
      #expect(rival.output.holds("\(daemon.folder.path)/store"), "\(rival.output)")
      #expect(rival.output.split(separator: "\n").count == 1)
      #expect(access(other, F_OK) != 0)
      #expect(try daemon.client().event("count", "a")["version"] == 1)
    }

    @Test(
      .enabled(if: getuid() == 0),
      .oneDaemon("other users can't go the way to the socket that scripts/three-nodes offers"))
    func `a user who is not an administrator may send events and ask, and not administer`() throws {
      let daemon = try RuledDaemon(rules: rules)
      chmod(daemon.folder.path, 0o755)
      chmod(daemon.socket, 0o666)
      let tool = "\(daemon.folder.path)/rulectl"
      #expect(Program.run("cp", ["\(RuledDaemon.programs)/rulectl", tool]).code == 0)
      func asNobody(_ words: [String]) -> (code: Int32, output: String) {
        Program.run(
          "setpriv",
          ["--reuid", "65534", "--regid", "65534", "--clear-groups", tool, "--socket", daemon.socket] + words)
      }
      #expect(asNobody(["event", "count", "a"]).code == 0)
      #expect(asNobody(["query", "echo.n", "a"]).code == 0)
      #expect(asNobody(["health"]).code == 0)
      for words in [
        ["state", "a"], ["subjects"], ["export", "a"], ["forget", "a"], ["rules"], ["reload"], ["parked"], ["counters"],
      ] {
        let refused = asNobody(words)
        #expect(
          refused.code == 2 && refused.output.holds("forbidden") || refused.output.holds("only root"),
          "\(words) \(refused)")
      }
      #expect(try daemon.client().call("state", ["subject": "a"])["version"] == 1)
    }

    @Test
    func `a client that does not read its replies is no longer read from, and others are served`() throws {
      let daemon = try RuledDaemon(rules: rules)
      let slow = try daemon.client()
      let request = Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rules\"}\n".utf8)
      let block = Array((0..<64).map { _ in request }.joined())
      let before = daemon.residentKiB
      var sent = 0
      var pauses = 0
      while sent < 64 << 20, pauses < 200 {
        let count = slow.sendAvailable(block)
        sent += count
        pauses = count == 0 ? pauses + 1 : 0
        if count == 0 { usleep(5000) }
      }
      #expect(sent < 64 << 20)
      #expect(daemon.residentKiB < before + 32 * 1024)
      #expect(try daemon.client().event("count", "a")["version"] == 1)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `SIGTERM under load answers every complete request, and what was answered is stored`(_ signal: Int32) throws {
      let daemon = try RuledDaemon(rules: Tally.rules)
      let tally = Tally(events: 8_000, connections: 4)
      let (loads, socket) = (tally.loads, daemon.socket)
      let threads = Threads.start(loads.count) { loads[$0].run(socket) }
      #expect(eventually { tally.answered >= tally.events / 4 })
      #expect(daemon.end(signal) == 0)
      Threads.join(threads)
      for load in loads { #expect(load.errors.allSatisfy { $0.holds("-32004") }) }
      try daemon.start()
      tally.run(daemon)
      try tally.expectApplied(daemon)
    }

    @Test
    func `complete requests sent before SIGTERM are answered, and then the connection closes`() throws {
      let daemon = try RuledDaemon(rules: rules)
      let client = try daemon.client()
      client.send(
        (1...200).map { Load.event("\($0)", "count", "s:\($0 % 5)", "{}").line }.joined()
          + "{\"jsonrpc\":\"2.0\",\"id\"")
      #expect(daemon.end(SIGTERM) == 0)
      let lines = client.remainingLines()
      #expect(lines.count == 200)
      #expect(lines.allSatisfy { $0.holds("\"result\"") })
    }
  }
}
