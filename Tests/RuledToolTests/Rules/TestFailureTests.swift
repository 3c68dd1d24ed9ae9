import RuledCore
import RuledJSON
import RuledTool
import TestSupport
import Testing

/// Tests that can't lie: an unexpected failure of a rule fails the test.
@Suite struct TestFailureTests {
  /// A plugin with a rule for each mistake.
  private static let plugin = """
    plugin { name = "p", settings = { words = "hi", limit = 3, caps = { daily = 2 } } } setting "caps.daily" { type = "integer", min = 1 }
    rule "raises" { on = "raise", run = function() log.warn("about to", { n = 1 }) error("no such thing") end }
    rule "typo" { on = "typo", run = function(event) send(event.subjct, "hello") end }
    rule "sink" { on = "sink", run = function() emit("mial", "x", {}) end }
    rule "cycle" { on = "cycle", run = function() raise("cycle") end }
    rule "timer" { on = "later", run = function() timer.set("t", now() + 60, "raise") end }
    rule "message" { on = "tell", run = function() send("user:2", "raise") end }
    rule "raised" { on = "outer", run = function() raise("raise") end }
    event "described" { name = "string" }
    rule "fine" { on = "fine", run = function(event) decide("n", event.data.n) end }
    """

  private func run(_ test: String, _ options: [String] = [], plugin: String = plugin) -> Run {
    let folder = RulesFolderOnDisk(["p/plugin.lua": plugin, "p/tests/t.lua": test])
    return withExtendedLifetime(folder) { Run(words: ["test", folder.path, "--seed", "1"] + options) }
  }

  @Test(arguments: [
    (
      "t:event('user:1', 'raise')",
      "p/plugin.lua:2: rule 'raises' of plugin 'p' failed on 'raise' of user:1 (error): no such thing"
    ),
    (
      "t:event('user:1', 'typo')",
      "p/plugin.lua:3: rule 'typo' of plugin 'p' failed on 'typo' of user:1 (value): a subject must be a string"
    ),
    (
      "t:event('user:1', 'sink')",
      "p/plugin.lua:4: rule 'sink' of plugin 'p' failed on 'sink' of user:1 (value): plugin 'p' has no sink 'mial'"
    ),
    ("t:event('user:1', 'cycle')", "p/plugin.lua:5: rule 'cycle' of plugin 'p' failed on 'cycle' of user:1 (cycle): "),
    (
      "t:event('user:1', 'later') t:advance('1h')",
      "p/plugin.lua:2: rule 'raises' of plugin 'p' failed on 'raise' of user:1 (error): no such thing"
    ),
    (
      "t:event('user:1', 'tell')",
      "p/plugin.lua:2: rule 'raises' of plugin 'p' failed on 'raise' of user:2 (error): no such thing"
    ),
    (
      "t:event('user:1', 'outer')",
      "p/plugin.lua:2: rule 'raises' of plugin 'p' failed on 'outer' of user:1 (error): no such thing"
    ),
    ("t:event('user:1', 'raise', nil, { dryrun = true })", "p/plugin.lua:2: rule 'raises'"),
  ])
  func `a failure that the test did not expect fails it, with the rule's message, file and line`(
    call: String, message: String
  ) {
    let run = run("test 'a' (function(t) \(call) end)")
    #expect(run.exit == .no)
    #expect(run.output.contains(message), "\(run.output)")
    #expect(run.output.contains("which the test did not expect"))
  }

  @Test(arguments: [
    "t:equal(t:event('user:1', 'raise').failures[1].kind, 'error')",
    "local o = t:event('user:1', 'raise') t:truthy(#o.failures == 1)",
    "local o = t:event('user:1', 'raise') for name, value in pairs(o.failures) do t:truthy(value) end",
    "t:event('user:1', 'tell') local f = t:failures() t:equal(#f, 1) t:equal(f[1].subject, 'user:2') t:equal(f[1].line, 2)",
    "t:event('user:1', 'later') t:advance('1h') t:equal(t:failures()[1].type, 'raise') t:equal(t:failures(), {})",
    "t:event('user:1', 'raise', nil, { id = '1' }).failures[1] = nil t:event('user:1', 'raise', nil, { id = '1' })",
  ])
  func `failures that the test reads or takes do not fail it`(body: String) {
    let run = run("test 'a' (function(t) \(body) end)")
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test func `an outcome that is compared whole shows its failures`() {
    let run = run("test 'a' (function(t) local o = t:event('user:1', 'raise') t:equal({ o }, { {} }) end)")
    #expect(run.output.contains("\"failures\":[{"), "\(run.output)")
    #expect(!run.output.contains("did not expect"))
  }

  @Test func `the rule's error comes first, then the lines of the test and of its helper`() throws {
    let failed = run(
      """
      local function play(t)
        t:event('user:1', 'raise')
      end
      test 'a' (function(t)
        play(t)
        t:equal(1, 2)
      end)
      """)
    let lines = failed.output.split(separator: "\n").map { $0.drop { $0 == " " } }
    let first = try #require(lines.firstIndex { $0.hasPrefix("FAIL a") })
    #expect(lines[first] == "FAIL a  p/plugin.lua:2")
    #expect(lines[first + 1].contains("rule 'raises' of plugin 'p' failed"))
    #expect(lines[first + 2] == "at p/tests/t.lua:5, in the test")
    #expect(lines[first + 3] == "at p/tests/t.lua:2, in 'play'")
    #expect(lines[first + 4] == "then at p/tests/t.lua:6: expected 2")
  }

  @Test func `a comparison in a helper names the line of the test, too, within cases as well`() {
    let helper = """
      local function check(t, n)
        t:equal(n, 2)
      end

      """
    let failed = run(helper + "test 'a' (function(t)\ncheck(t, 1)\nend)")
    #expect(failed.output.contains("FAIL a  p/tests/t.lua:2\n"), "\(failed.output)")
    #expect(failed.output.contains("at p/tests/t.lua:5, in the test\n      at p/tests/t.lua:2, in 'check'\n"))
    let each = run(helper + "test 'a' (function(t)\nt:each({ 2, 1 }, function(case)\ncheck(t, case)\nend)\nend)")
    #expect(each.output.contains("at p/tests/t.lua:2, in 'check'\n"), "\(each.output)")
    #expect(each.output.contains("at p/tests/t.lua:6"), "\(each.output)")
  }

  @Test func `a test that fails says which event the plugin's sources kept from its rules`() {
    let plugin = Self.plugin.replacing("name = \"p\"", with: "name = \"p\", sources = { \"app/*\" }")
    let run = { (source: String) in
      self.run(
        "test 'a' (function(t) t:equal(t:event('user:1', 'fine', { n = 1 }, { source = '\(source)' }).decisions.n, 2) end)",
        plugin: plugin)
    }
    let message = "no rule of 'p' heard 'fine': the plugin takes sources 'app/*', not 'web'"
    #expect(run("web").output.contains(message), "\(run("web").output)")
    #expect(!run("app/1").output.contains("heard"))
  }

  @Test(arguments: [
    ("t:event('user:1', 'fine')", true), ("t:event('user:1', 'raise') t:failures()", true),
    ("for _, effect in ipairs(t:effects('user:1')) do t:equal(effect.type, 'x') end", true),
    ("t:equal(1, 1)", false), ("t:truthy(1)", false), ("t:fails(function() error('x') end)", false),
    ("t:each({ 1 }, function(n) t:equal(n, 1) end)", false), ("assert(t:event('user:1', 'fine'))", false),
    ("t:captured() t:event('user:1', 'fine')", false), ("t:equal(1, 2)", false),
  ])
  func `a test that has compared nothing is named, and passes`(body: String, isNamed: Bool) {
    let run = run("test 'b' (function(t) t:equal(1, 1) end)\ntest 'a' (function(t)\n\(body)\nend)")
    let warning = "p/tests/t.lua:2: warning: test 'a' compared nothing"
    #expect(run.output.contains(warning) == isNamed && !run.output.contains("'b'"), "\(run.output)")
    #expect(run.exit == (body.contains("1, 2") ? .no : .done))
  }

  @Test func `log lines of rules stand beside a test that failed, and only there`() {
    let failed = run("test 'a' (function(t) t:event('user:1', 'raise') end)")
    #expect(failed.output.contains("log warn p/raises: about to {\"n\":1}"), "\(failed.output)")
    let passed = run("test 'a' (function(t) t:event('user:1', 'raise') t:failures() end)")
    #expect(!passed.output.contains("about to"))
  }

  @Test(arguments: [
    ("t:settings { wrods = 'x' }", "plugin 'p' has no setting 'wrods'; did you mean 'words'?"),
    ("t:settings { limit = 'three' }", "the setting 'limit' of plugin 'p' must be a number, as it is by default"),
    (
      "t:settings { caps = { daily = 1 } } t:settings { caps = { daily = 0 } }",
      "the setting 'caps.daily' of plugin 'p' must be at least 1, not 0"
    ),
    ("t:given('user:1', 1, { n = 5 })", "there is no plugin 'n'"),
    ("t:given('user:1', 1, { pp = { n = 5 } })", "there is no plugin 'pp'; did you mean 'p'?"),
    ("t:failing('user:1', 'pp')", "there is no plugin 'pp'; did you mean 'p'?"),
    ("t:event('', 'fine')", "event.subject: must not be empty"),
    ("t:event('user:1', 'a\\nb')", "event.type: must not have control characters"),
    ("t:event('user:1', 'fine', nil, { Trace = 'x' })", "event.Trace: "),
    ("t:event('user:1', 'fine', nil, { dryrun = 'yes' })", "event.dryrun: must be true or false"),
    ("t:event('user:1', 'fine', nil, { id = '' })", "event.id: must not be empty"),
    ("t:event('user:1', 'fine', nil, { time = 'noon' })", "event.time: must be a time in RFC 3339"),
    ("t:event('user:1')", "t:event: argument 2 must be an event type"),
    ("t:event('user:1', 'described', { nme = 'a' })", "the daemon refuses 'described': params.data.name: is required"),
  ])
  func `a test is refused events that the daemon refuses`(call: String, message: String) {
    let run = run("test 'a' (function(t)\n\(call)\nend)")
    #expect(run.exit == .no)
    #expect(run.output.contains(message), "\(run.output)")
    #expect(run.output.contains("p/tests/t.lua:2"), "\(run.output)")
  }
}
