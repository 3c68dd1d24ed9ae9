import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// A daemon whose standard error is a pipe that is read only when a test does so.
  @Suite(.oneDaemon("it is about a daemon's own standard error")) struct UnreadLogTests {
    private static let pipe = "mkfifo \"$2.pipe\"; exec 2<>\"$2.pipe\""
    private static let lines = 10_000
    private static let perEvent = 100
    private static let rules = [
      "chat/plugin.lua": """
      plugin { name = "chat", version = "1" }
      rule "talk" { on = "talk", run = function(event)
        for n = 1, event.data.lines do log.info(("x"):rep(1000)) end
        decide("talked", true)
      end }
      """
    ]

    private let daemon: RuledDaemon

    init() throws { daemon = try RuledDaemon(rules: Self.rules, preparation: Self.pipe) }

    /// Has the rules log more than any pipe holds, and expects that all is served meanwhile.
    private func fill() throws {
      let client = try daemon.client()
      for number in 0..<Self.lines / Self.perEvent {
        let outcome = try client.event("talk", "s:\(number)", ["lines": .integer(Int64(Self.perEvent))])
        try #require(outcome["decisions"]?["chat"]?["talked"] == true)
      }
      #expect(try client.call("health")["status"] == "ready")
    }

    private var droppedInMetrics: Int? {
      guard let client = try? daemon.client() else { return nil }
      client.send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      let name = "ruled_log_lines_dropped_total "
      return client.remainingLines().first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count)) }
    }

    @Test func `a log that nobody reads stops neither events nor the end`() throws {
      try fill()
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `a reader that comes back learns how many lines are missing`() throws {
      try fill()
      let dropped = try #require(droppedInMetrics)
      let reader = open("\(daemon.folder.path)/rules.pipe", O_RDONLY | O_NONBLOCK)
      defer { close(reader) }
      var unread: [UInt8] = []
      var messages: [String] = []
      func read(until isEnough: () -> Bool) -> Bool {
        var part = [UInt8](repeating: 0, count: 65536)
        return eventually {
          let count = Glibc.read(reader, &part, part.count)
          unread += part.prefix(max(0, count))
          while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            let line = try? JSONValue(parsing: String(decoding: unread[..<end], as: UTF8.self))
            messages.append(line?["message"]?.stringValue ?? "")
            unread.removeFirst(end + 1)
          }
          return isEnough()
        }
      }
      func missing() -> Int {
        let notes = messages.filter { $0.contains(" lines were dropped from ") }
        return notes.compactMap { Int($0.prefix { $0 != " " }) }.reduce(0, +)
      }
      #expect(read { missing() == dropped })
      #expect(messages.count { $0.hasPrefix("xxx") } + dropped >= Self.lines)
      try daemon.client().event("talk", "s:later", ["lines": 1])
      #expect(read { messages.last?.hasPrefix("xxx") == true })
      #expect(droppedInMetrics == dropped)
    }

    @Test func `no file takes the place of a standard error that is closed`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, preparation: "exec 2>&-")
      #expect(Program.run("readlink", ["/proc/\(daemon.process)/fd/2"]).output == "/dev/null\n")
    }

    @Test func `a start that fails ends, though nobody reads why`() throws {
      #expect {
        _ = try RuledDaemon(
          rules: ["chat/plugin.lua": "plugin {"], preparation: "\(Self.pipe); head -c 65536 /dev/zero >&2")
      } throws: {
        "\($0)".hasPrefix("ruled ended with 2")
      }
    }
  }
}
