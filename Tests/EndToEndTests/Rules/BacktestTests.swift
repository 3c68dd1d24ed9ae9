import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// Backtests on the journal of a running daemon, by rulectl and by the method.
  @Suite struct BacktestTests {
    private static let rules = """
      plugin { name = "game", settings = { earned = 10, extra = 0 } }
      rule "play" {
        on = "played",
        run = function(event, state)
          state.points = (state.points or 0) + settings.earned + settings.extra
          decide("points", state.points)
          if state.points % 100 == 0 then send("user:all", "reached", {}) end
        end,
      }
      rule "reached" { on = "reached", run = function(event, state) state.seen = (state.seen or 0) + 1 decide("seen", state.seen) end }

      """
    private static let configuration = """
      journal = { keep = "7d", max_gib = 1, snapshot = "1d", redact = {} }
      plugins = { game = { extra = 10 } }

      """

    private func daemon() throws -> RuledDaemon {
      let daemon = try RuledDaemon(
        rules: ["game/plugin.lua": Self.rules], manualClock: true, configuration: Self.configuration)
      let client = try daemon.client()
      for _ in 0..<4 {
        for number in 0..<50 { _ = try client.event("played", "user:\(number % 5)") }
        _ = try client.call("clock", ["advance": "1d"])
      }
      return daemon
    }

    private func backtest(_ daemon: RuledDaemon, _ options: String...) -> (report: JSONValue, code: Int32) {
      let run = Program.run(
        "\(RuledDaemon.programs)/rulectl",
        ["--socket", daemon.socket, "backtest", daemon.folder("next"), "--json"] + options)
      // The exceeded limits follow on standard error.
      let report = run.output.split(separator: "\n").first.map(String.init) ?? ""
      return ((try? JSONValue(parsing: report)) ?? .string(run.output), run.code)
    }

    @Test
    func `the journal is played from its beginning with the configured settings, and equal rules give no difference`()
      throws
    {
      let daemon = try daemon()
      daemon.folder.replace("next/game/plugin.lua", with: Self.rules)
      let (report, code) = backtest(daemon, "--fail-on", "changed > 0")
      #expect(code == 0)
      let messages = report["messages"]?["before"]?.intValue ?? 0
      #expect(messages > 0)
      #expect(report["events"]?.intValue == 200 + messages)
      #expect(report["fidelity"]?["equal"] == report["fidelity"]?["replayed"])
      #expect(report["fidelity"]?["replayed"] == report["events"])
      #expect(report["outcomes"]?["changed"] == 0)
      #expect(report["states"]?["changed"] == 0)
    }

    @Test func `a range begins with the states of then, and the gate tells the changes in it`() throws {
      let daemon = try daemon()
      daemon.folder.replace(
        "next/game/plugin.lua", with: Self.rules.replacing("earned = 10", with: "earned = 20"))
      let (report, code) = backtest(daemon, "--since", "36h", "--fail-on", "changed > 1%")
      #expect(code == 1)
      #expect(report["exceeded"] == ["changed > 1%"])
      let points = report["decisions"]?.arrayValue?.first { $0["key"] == "points" }
      #expect(points?["changed"] == 50, "one of the four days")
      let first = points?["numbers"]?[0]
      // Each user had 600 points, and got 20 ten times, or 30.
      #expect(first?["before"]?["sum"] == 35_500)
      #expect(first?["after"]?["sum"] == 38_250)
    }

    @Test func `a range without events and unknown subjects are refused, by rulectl and by the method`() throws {
      let daemon = try daemon()
      daemon.folder.replace("next/game/plugin.lua", with: Self.rules)
      let rules: JSONValue = [
        "library": [],
        "plugins": [
          ["name": "game", "modules": [["path": "game/plugin.lua", "text": .string(Self.rules)]], "data": []]
        ],
      ]
      // Messages of the last day may be applied after its end.
      for (option, value) in [("since", "2126-01-01T00:00:00Z"), ("subjects", "nosuch:")] {
        let (report, code) = backtest(daemon, "--\(option)", value, "--fail-on", "changed > 0")
        #expect(code == 2 && report.text.contains("nothing can be replayed"), "\(report)")
        let refused = try daemon.client().failure("backtest", ["rules": rules, option: .string(value)])
        #expect(refused["message"]?.stringValue?.contains("nothing can be replayed") == true, "\(refused)")
        #expect(refused["data"]?["code"] == "unavailable")
      }
    }

    @Test func `the method gives the same report as rulectl`() throws {
      let daemon = try daemon()
      let next = Self.rules.replacing("earned = 10", with: "earned = 20")
      daemon.folder.replace("next/game/plugin.lua", with: next)
      let rules: JSONValue = [
        "library": [],
        "plugins": [["name": "game", "modules": [["path": "game/plugin.lua", "text": .string(next)]], "data": []]],
      ]
      let client = try daemon.client()
      let result = try daemon.hurrying("ruled-backtest") {
        try client.call("backtest", ["rules": rules, "since": "36h", "fail_on": ["changed > 1%"]])
      }
      var (own, remote) = (
        backtest(daemon, "--since", "36h", "--fail-on", "changed > 1%").report.objectValue ?? [:],
        result.objectValue ?? [:]
      )
      for name in ["most_changed", "other_states"] {
        #expect(own[name]?.arrayValue?.count == remote[name]?.arrayValue?.count)
      }
      for name in ["most_changed", "other_states"] { (own[name], remote[name]) = (nil, nil) }
      #expect(own == remote)
      #expect(own["html"] == nil)
      _ = backtest(daemon, "--since", "36h", "--html", daemon.folder("report.html"))
      let page = try daemon.hurrying("ruled-backtest") {
        try client.call("backtest", ["rules": rules, "since": "36h", "html": true])["html"]?.stringValue
      }
      #expect(page?.contains("game.points") == true && page?.contains("<mark>") == true)
      #expect(
        page?.replacing("--rules DIR", with: "--rules \(daemon.folder("next"))") == daemon.folder.read("report.html"))
      #expect(try client.failure("backtest", ["rules": ["plugins": []]])["data"]?["code"] == "invalid_params")
      let refused = try client.failure("backtest", ["rules": rules, "fail_on": ["speed > 1"]])
      #expect(refused["message"]?.stringValue?.contains("changed, failures, effects or instructions") == true)
    }
  }
}
