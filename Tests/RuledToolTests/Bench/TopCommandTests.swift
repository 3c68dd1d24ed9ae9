import RuledCore
import RuledTool
import Synchronization
import Testing

/// `rulectl top`, against a daemon that answers by a script.
struct TopCommandTests {
  private static func plugin(_ name: String, _ runs: Int64, _ failures: Int64, _ p99: Double) -> JSONValue {
    [
      "name": .string(name), "rules": ["one"], "queries": [], "runs": .integer(runs), "failures": .integer(failures),
      "p50_us": 10, "p99_us": .number(p99),
    ]
  }

  /// A daemon whose plugins have run more often at each look.
  private static func daemon(errors: JSONValue = []) throws -> FakeDaemon {
    let looks = Atomic<Int>(0)
    return try FakeDaemon { request in
      guard request.method == "rules" else {
        return [request.result(["status": "ready", "revision": "b1946ac9", "workers": 2, "uptime_s": 3700])]
      }
      let look = Int64(looks.add(1, ordering: .relaxed).oldValue)
      let plugins: JSONValue = [
        plugin("calm", 100, 7, 900), plugin("busy", 1000 + look * 5_000_000, 2 + look, 40),
        plugin("slow", 10 + look * 1000, 0, 2500),
      ]
      return [request.result(["revision": "b1946ac9", "plugins": plugins, "errors": errors])]
    }
  }

  @Test func `One look lists the busiest first and names the slowest of those that ran`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("top", "--once", on: daemon)
    #expect(run.exit == .done)
    let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines.first == "ready, revision b1946ac9, 2 workers, up 1h 1m")
    #expect(lines.filter { $0.hasSuffix("  busy") || $0.hasSuffix("  slow") || $0.hasSuffix("  calm") }.count == 3)
    #expect(lines[4].hasSuffix("  10 µs   40 µs         3   +1  busy"))
    #expect(lines[5].hasSuffix("  10 µs  2.5 ms         0    -  slow"))
    #expect(lines[6].hasSuffix("  10 µs  900 µs         7    -  calm"))
    #expect(run.output.hasSuffix("\nbusiest busy, slowest slow (p99 2.5 ms)\n"))
    #expect(daemon.requests.map(\.method) == ["health", "rules", "health", "rules"])
  }

  @Test func `A limit says how many more there are`() throws {
    let daemon = try Self.daemon(errors: [["file": "x/plugin.lua", "line": 1, "message": "no"]])
    defer { daemon.stop() }
    let run = Run("top", "--once", "--limit", "1", on: daemon)
    #expect(run.output.contains("\nand 2 more\n"))
    #expect(run.output.hasSuffix("what is on disk does not load; 'rulectl rules' says why\n"))
  }

  @Test func `Rules are listed when the daemon measures each`() throws {
    let daemon = try FakeDaemon(result: [
      "status": "ready", "events": 5,
      "plugins": [
        ["name": "p", "runs": 1, "failures": 0, "rules": [["name": "r", "runs": 1, "failures": 0, "p50_us": 3]]]
      ],
    ])
    defer { daemon.stop() }
    let run = Run("top", "--once", on: daemon)
    #expect(run.output.contains("0 events/s, 0 runs/s, 0 failures/s\n"))
    #expect(run.output.contains("RULE\n"))
    #expect(run.output.contains("  p.r\n"))
  }

  @Test func `Its end is the daemon's`() throws {
    let daemon = try FakeDaemon(error: RequestError(.forbidden, "not for you"))
    defer { daemon.stop() }
    #expect(Run("top", on: daemon).exit != .done)
  }
}
