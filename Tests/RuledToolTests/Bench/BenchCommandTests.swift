import Glibc
import RuledCore
import RuledJSON
import Synchronization
import Testing

@testable import RuledTool

/// `rulectl bench`, against a daemon that answers by a script.
struct BenchCommandTests {
  private static let outcome: JSONValue = ["duplicate": false, "effects": [], "failures": []]

  private static let fiveSubjects: Set<String> = ["bench:0", "bench:1", "bench:2", "bench:3", "bench:4"]

  private static func figures(_ run: Run) throws -> JSONValue { try JSONValue(parsing: run.output) }

  @Test func `Every request is answered and counted, each under an id of its own`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run(
      "bench", "--connections", "1", "--pipeline", "4", "--seconds", "0.3", "--subjects", "5", "--type", "a.b",
      "--data", "{\"n\": 1}", "--json", on: daemon)
    #expect(run.exit == .done)
    let figures = try Self.figures(run)
    let sent = try #require(figures["sent"]?.intValue)
    #expect(sent > 0 && figures["answered"]?.intValue == sent && figures["missing"] == 0)
    #expect((figures["p50_us"]?.doubleValue ?? 0) > 0)
    let events = daemon.requests.map(\.params)
    #expect(Int64(events.count) == sent)
    let ids = Set(events.compactMap { $0["id"]?.stringValue })
    #expect(ids.count == events.count)
    let subjects = Set(events.compactMap { $0["subject"]?.stringValue })
    #expect(subjects.isSubset(of: Self.fiveSubjects))
    #expect(events.allSatisfy { $0["type"] == "a.b" && $0["data"] == ["n": 1] })
  }

  @Test func `At a rate, as many are sent as are due`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "-p", "8", "--rate", "200", "--seconds", "0.5", "--json", on: daemon)
    #expect(run.exit == .done)
    #expect(try Self.figures(run)["sent"] == 100)
  }

  @Test func `At a rate, requests that became due while the sender did not run are sent, too`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let words = ["-c", "1", "-p", "64", "--rate", "200", "--seconds", "0.3"]
    let plan = try BenchPlan(ArgumentParser.parse(words[...], options: BenchCommand.spec.options))
    var pump = try BenchPump(plan, path: daemon.path)
    let tally = try pump.run { _, _ in usleep(300_000) }
    #expect(tally.sent == 60)
    #expect(tally.missing == 0)
  }

  @Test func `At a rate, the wait for a slow reply is charged to the requests due meanwhile`() throws {
    let daemon = try FakeDaemon { request in
      let isFirst = request.params["id"]?.stringValue?.hasSuffix("-0") ?? false
      if isFirst { usleep(400_000) }
      return [request.result(Self.outcome)]
    }
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "-p", "1", "--rate", "100", "--seconds", "0.4", "--json", on: daemon)
    let figures = try Self.figures(run)
    #expect(figures["sent"] == 40)
    #expect((figures["p50_us"]?.doubleValue ?? 0) > 100_000)
  }

  @Test func `Refusals are counted by code and end with no`() throws {
    let daemon = try FakeDaemon(error: RequestError(.overloaded, "too many requests in flight"))
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--rate", "50", "--seconds", "0.1", on: daemon)
    #expect(run.exit == .no)
    #expect(run.output.hasSuffix("\n5 refused: overloaded\n  the first one: too many requests in flight\n"))
  }

  @Test func `Events that a plugin failed on are reported`() throws {
    let daemon = try FakeDaemon(result: ["failures": [["plugin": "p"]]])
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--rate", "10", "--seconds", "0.1", on: daemon)
    #expect(run.exit == .no)
    #expect(run.output.hasSuffix("\na plugin failed on 1 event; 'rulectl parked' lists them\n"))
  }

  @Test func `The text shows throughput, quantiles and a histogram`() throws {
    let daemon = try FakeDaemon(result: Self.outcome)
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--seconds", "0.1", on: daemon)
    #expect(run.exit == .done)
    #expect(run.output.contains("/s  ("))
    #expect(run.output.contains("latency from sending: p50 "))
    #expect(run.output.contains(" %  #"))
    let offered = Run("bench", "-c", "1", "--rate", "50", "--seconds", "0.1", on: daemon)
    #expect(offered.output.contains("latency from the time each was due: p50 "))
  }

  @Test(arguments: [
    (["--rate", "0"], "--rate takes a number from 0.1 to 10000000, not '0'"),
    (["--seconds", "x"], "--seconds takes a number from 0.1 to 86400, not 'x'"),
    (["--connections", "0"], "--connections takes a whole number from 1 to 1000, not '0'"),
  ])
  func `Settings that make no sense are refused`(words: [String], message: String) {
    let run = Run("bench", words[0], words[1])
    #expect(run.exit == .failed)
    #expect(run.errors == "rulectl: \(message)\n")
  }

  @Test func `Data that is no JSON is refused`() {
    #expect(Run("bench", "--data", "{").errors.hasPrefix("rulectl: --data is not JSON: "))
  }

  @Test func `A daemon that closes the connection ends it with a message`() throws {
    let daemon = try FakeDaemon { _ in nil }
    defer { daemon.stop() }
    let run = Run("bench", "-c", "1", "--seconds", "5", on: daemon)
    #expect(run.exit == .failed)
    #expect(run.errors.hasPrefix("rulectl: the daemon closed a connection"))
  }
}

/// `rulectl top`, against a daemon that answers by a script.
struct TopCommandTests {
  private static func plugin(_ name: String, _ runs: Int64, _ failures: Int64, _ p99: Double) -> JSONValue {
    [
      "name": .string(name), "rules": ["one"], "queries": [], "runs": .integer(runs), "failures": .integer(failures),
      "p50_us": 10, "p99_us": .number(p99),
    ]
  }

  /// A daemon whose plugins have run more often at each request.
  private static func daemon(errors: JSONValue = []) throws -> FakeDaemon {
    let requests = Atomic<Int>(0)
    return try FakeDaemon { request in
      switch request.method {
      case "samples":
        return [
          request.result([
            "series": [["events": [900, 41, 43], "run_p50_us": [7, 12, nil], "run_p99_us": [8, 250, nil]]]
          ])
        ]
      case "health":
        return [
          request.result([
            "status": "ready", "revision": "b1946ac9", "workers": 2, "uptime_s": 3700,
            "parked": ["calm": 2000, "busy": 345],
            "sinks": ["mail": ["waiting": 12, "given_up": 3], "done": ["waiting": 0]],
          ])
        ]
      default: break
      }
      let count = Int64(requests.add(1, ordering: .relaxed).oldValue)
      let plugins: JSONValue = [
        plugin("calm", 100, 7, 900), plugin("busy", 1000 + count * 5_000_000, 2 + count, 40),
        plugin("slow", 10 + count * 1000, 0, 2500),
      ]
      return [request.result(["revision": "b1946ac9", "plugins": plugins, "errors": errors])]
    }
  }

  @Test func `A screen lists the busiest first and names the slowest of those that ran`() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let run = Run("top", "--once", on: daemon)
    #expect(run.exit == .done)
    let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines.first == "ready, revision b1946ac9, 2 workers, up 1h 1m")
    #expect(lines.filter { $0.hasSuffix("  busy") || $0.hasSuffix("  slow") || $0.hasSuffix("  calm") }.count == 3)
    #expect(lines[1].hasPrefix("43 events/s, "))
    #expect(lines[2] == "2,345 parked; mail 12 waiting, 3 given up")
    #expect(lines[5].hasSuffix("  10 µs   40 µs         3   +1  busy"))
    #expect(lines[6].hasSuffix("  10 µs  2.5 ms         0    -  slow"))
    #expect(lines[7].hasSuffix("  10 µs  900 µs         7    -  calm"))
    #expect(run.output.hasSuffix("\nbusiest busy, slowest slow (p99 2.5 ms)\n"))
    #expect(
      daemon.requests.map(\.method)
        == Array(repeating: ["health", "rules", "samples"], count: 2).flatMap { $0 })
  }

  @Test func `A limit is followed by how many more there are`() throws {
    let daemon = try Self.daemon(errors: [["file": "x/plugin.lua", "line": 1, "message": "no"]])
    defer { daemon.stop() }
    let run = Run("top", "--once", "--limit", "1", on: daemon)
    #expect(run.output.contains("\nand 2 more\n"))
    #expect(run.output.hasSuffix("the rules on disk do not load; 'rulectl rules' shows why\n"))
  }

  @Test func `Rules are listed when the daemon measures each`() throws {
    let daemon = try FakeDaemon(result: [
      "status": "ready",
      "plugins": [
        ["name": "p", "runs": 1, "failures": 0, "rules": [["name": "r", "runs": 1, "failures": 0, "p50_us": 3]]]
      ],
    ])
    defer { daemon.stop() }
    let run = Run("top", "--once", on: daemon)
    #expect(run.output.contains("0 runs/s, 0 failures/s, p50 -, p99 -\n"))
    #expect(run.output.contains("  3 µs    -  "))
    #expect(run.output.contains("RULE\n"))
    #expect(run.output.contains("  p.r\n"))
  }

  @Test func `A plugin whose every run fails is the headline, and an unmeasured time is left out`() throws {
    let requests = Atomic<Int>(0)
    let daemon = try FakeDaemon { request in
      let count = Int64(request.method == "rules" ? requests.add(1, ordering: .relaxed).oldValue : 0)
      let plugin: JSONValue = [
        "name": "p", "runs": .integer(count), "failures": .integer(count), "p50_us": 0, "p99_us": 0,
      ]
      return [request.result(["status": "ready", "plugins": [plugin]])]
    }
    defer { daemon.stop() }
    let run = Run("top", "--once", on: daemon)
    #expect(run.output.hasPrefix("every run of p fails"))
    #expect(!run.output.contains("µs"))
  }

  @Test func `A refusal by the daemon ends it`() throws {
    let daemon = try FakeDaemon(error: RequestError(.forbidden, "not for you"))
    defer { daemon.stop() }
    #expect(Run("top", on: daemon).exit != .done)
  }
}
