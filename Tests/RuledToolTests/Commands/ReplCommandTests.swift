import RuledCore
import TestSupport
import Testing

@testable import RuledTool

/// `rulectl repl`, with lines from a pipe.
struct ReplCommandTests {
  private static let rules = RulesFolderOnDisk([
    "shop/plugin.lua": """
    plugin { name = "shop", sinks = { "mail" } }
    event "paid" { amount = "integer", note = "string?" }
    rule "pay" { on = "paid", when = function(e) return e.data.amount > 0 end, run = function(e, s)
      s.total = (s.total or 0) + e.data.amount
      decide("total", s.total)
    end }
    query "total" (function(s, args) return { total = s.total or 0, unit = args.unit } end)

    """
  ])

  private func repl(_ lines: String..., words: [String] = [], on daemon: FakeDaemon? = nil) -> Run {
    Run(
      words: ["repl", "--rules", Self.rules.path] + words, on: daemon, input: lines.joined(separator: "\n") + "\n")
  }

  @Test func `Expressions show their values, statements run, and host functions are there`() {
    let run = repl(
      "1 + 2", "text.lower('ABC'), nil, true", "local t = { a = 1 } return t", "_.a == 1", "x = 1", "1 +",
      "calendar.date(0, 'UTC')", "string.len", "error('stop')", "5 -- a comment")
    #expect(run.exit == .no)
    #expect(
      run.output == """
        3
        "abc"
        nil
        true
        {
          "a": 1
        }
        true
        error: assignment to global 'x': a plugin has no globals; declare it local, or keep it in state
        error: unexpected symbol near '1'
        "1970-01-01"
        function
        error: stop
        5

        """)
  }

  @Test func `A line tells its requests to the host, and 'state' is a copy of the subject's states`() throws {
    let daemon = try FakeDaemon(result: ["subject": "user:7", "version": 3, "plugins": ["shop": ["total": 5]]])
    defer { daemon.stop() }
    let run = repl(
      "state.shop.total", "state.shop.total = 9", "state.shop.total", "subject",
      "send('user:8', 'hi') once('k')", "once('k')", "decide('a', 1) log.info('seen')", words: ["user:7"], on: daemon)
    #expect(daemon.requests.map(\.method) == ["health", "state"])
    #expect(
      run.output == """
        5
        5
        "user:7"
        sends hi to user:8
        once k
        false
        decides a
        info repl/line: seen

        """)
    #expect(run.exit == .done)
  }

  @Test func `An event is shown to the rules, and the session's state follows it`() {
    let run = repl(
      ".event paid amount=2", ".event paid {\"amount\": 3}", ".event paid amount=0", ".query shop.total unit=EUR",
      ".state shop", "state.shop.total", ".event paid amount=x", ".state none", ".nothing", ".help")
    for expected in [
      "● pay", "total  5", "○ pay: 'when' was false: e.data.amount > 0", "\"unit\": \"EUR\"", "\"total\": 5",
      "error: params.data.amount", "'none' has no state of repl:1", "there is no command .nothing", ".event TYPE",
    ] {
      #expect(run.output.contains(expected), "\(expected): \(run.output)")
    }
  }

  @Test func `The clock is the daemon's where that is set by hand, and can be moved`() throws {
    let daemon = try FakeDaemon { request in
      [request.result(request.method == "health" ? ["manual_clock": "2031-05-01T08:00:00.000Z"] : ["version": 0])]
    }
    defer { daemon.stop() }
    let run = repl(
      ".clock", "calendar.date(now(), 'UTC')", "timer.set('t', now() + 60, 'paid', { amount = 2 })", ".clock 1d",
      "calendar.date(now(), 'UTC')", ".clock soon", words: ["user:7"], on: daemon)
    #expect(
      run.output == """
        2031-05-01T08:00:00.000Z
        "2031-05-01"
        timers t: paid at 2031-05-01T08:01:00.000Z
        2031-05-02T08:00:00.000Z
        "2031-05-02"
        error: write .clock, or how far to move it, as in .clock 1h30m or .clock 1d

        """)
  }

  @Test func `Rules that are edited are read again for the next event, and errors at load are told`() throws {
    let rule = "rule 'r' { on = 'x', run = function() decide('n', 1) end }"
    let folder = RulesFolderOnDisk(["p/plugin.lua": "plugin { name = 'p' } \(rule)"])
    let session = try ReplSession(RulesSelection([folder.path]), subject: "s", version: 0, states: [:])
    #expect(try session.send("x", nil)["decisions"] == ["p": ["n": 1]])
    folder.write("p/plugin.lua", "plugin { name = 'p' } rule 'r' { on = 'x', run = function() decide('n', 2) end }")
    #expect(try session.send("x", nil)["decisions"] == ["p": ["n": 2]])
    folder.write("p/plugin.lua", "plugin { name = 'p' } rule")
    #expect(throws: (any Error).self) { try session.send("x", nil) }
    #expect(try session.runLua("1").values == ["1"])
  }

  @Test func `Words are completed: functions, the state's members, commands, types, keys and queries`() throws {
    let session = try ReplSession(
      RulesSelection([Self.rules.path]), subject: "s", version: 1, states: ["shop": ["total": 1, "tax": 2, "x": 3]])
    let completion = ReplCompletion(catalog: session.catalog, states: try session.states())
    #expect(completion.candidates("calendar.wee") == ["calendar.week", "calendar.weekday"])
    #expect(completion.candidates("1 + deci") == ["decide"])
    #expect(completion.candidates("state.shop.t") == ["state.shop.tax", "state.shop.total"])
    #expect(completion.candidates(".ev") == [".event"])
    #expect(completion.candidates(".event p") == ["paid"])
    #expect(completion.candidates(".event paid ") == ["amount=", "note="])
    #expect(completion.candidates(".query ") == ["shop.total"])
    #expect(completion.candidates("") == [])
    #expect(ReplCompletion.word(of: "decide(state.sh") == "state.sh")
    #expect(ReplCompletion.word(of: ".event paid am") == "am")
  }

  @Test func `Typed lines are kept for the next session, for their owner alone`() {
    let folder = TemporaryFolder()
    let variables = ["XDG_STATE_HOME": folder("state")]
    var history = LineHistory(variables)
    for line in ["one", "one", " ", "two"] { history.add(line) }
    #expect(LineHistory(variables).lines == ["one", "two"])
    #expect(TemporaryFolder.read(folder("state/rulectl/history")) == "one\ntwo\n")
    for number in 0...LineHistory.most { history.add("\(number)") }
    #expect(LineHistory(variables).lines.count == LineHistory.most)
    var nowhere = LineHistory([:])
    nowhere.add("x")
    #expect(nowhere.lines == ["x"])
  }
}
