import Glibc
import RuledCore
import RuledJSON
import Testing

@testable import RuledTool

@Suite struct TestCommandTests {
  private func folder(_ tests: String, _ more: KeyValuePairs<String, String> = [:]) -> RulesFolderOnDisk {
    let folder = RulesFolderOnDisk(["greeter/plugin.lua": RulesFolderOnDisk.greeter, "greeter/tests/t.lua": tests])
    for (name, text) in more { folder.write(name, text) }
    return folder
  }

  private func run(_ folder: RulesFolderOnDisk, _ options: [String] = []) -> Run {
    Run(words: ["test", folder.path] + options)
  }

  @Test(.enabled(if: access("rules/onboarding", F_OK) == 0, "runs in the repository"))
  func `a plugin without its rules folder is suggested`() {
    let run = Run("test", "onboarding")
    #expect(run.exit == .failed)
    #expect(run.errors == "rulectl: there is no folder 'onboarding'; did you mean 'rules/onboarding'?\n")
    #expect(Run("test", "onbording").errors.contains("name the rules folder or one plugin's folder"))
  }

  @Test func `the library's tests run with those of the plugins, and alone, with rules of their own`() {
    let folder = folder(
      "test \"greets\" (function() end)",
      [
        "lib/twice.lua": "return function(n) return n * 2 end\n",
        "lib/tests/plugin.lua": """
        plugin { name = "lib" }
        local twice = require "twice"
        rule "twice" { on = "lib.twice", run = function(event) decide("n", twice(event.data.n)) end }
        """,
        "lib/tests/twice.lua": """
        test "twice" (function(t) t:equal(t:event("user:1", "lib.twice", { n = 3 }).decisions.n, 6) end)
        """,
      ])
    let all = run(folder, ["--coverage"])
    #expect(all.exit == .done && all.output.contains("2 tests passed"))
    #expect(all.output.contains("lib/twice.lua"))
    let alone = Run(words: ["test", folder.path + "/lib"])
    #expect(alone.exit == .done && alone.output.contains("1 test passed"))
    let plugin = Run(words: ["test", folder.path + "/greeter", "--coverage"])
    #expect(plugin.exit == .done && !plugin.output.contains("lib/twice.lua"), "\(plugin.output)")
    #expect(Run(words: ["test", folder.path + "/lib", "--coverage"]).output.contains("lib/twice.lua"))
    #expect(Run(words: ["check", folder.path]).output.contains("lib") == false)
    let mutants = Run(words: ["mutate", folder.path + "/lib", "--json"])
    #expect(mutants.output.contains(#""file":"lib/twice.lua""#) && !mutants.output.contains("survived"))
  }

  @Test(.enabled(if: access("rules/lib", F_OK) == 0, "runs in the repository"))
  func `the installed library counts neither for the coverage nor for mutants`() {
    let folder = RulesFolderOnDisk([
      "greeter/plugin.lua": """
      plugin { name = "greeter" }
      local bins = require "bins"
      rule "r" { on = "greeter.r", run = function(event) decide("bin", bins.of(bins.new { 5 }, event.data.n)) end }
      """,
      "greeter/tests/t.lua": """
      test "t" (function(t) t:equal(t:event("user:1", "greeter.r", { n = 2 }).decisions.bin, "0-5") end)
      """,
    ])
    let tests = Run(words: ["test", folder.path, "--coverage"])
    #expect(tests.exit == .done && tests.output.contains("greeter/plugin.lua") && !tests.output.contains("bins.lua"))
    #expect(!Run(words: ["mutate", folder.path, "--json"]).output.contains("bins.lua"))
  }

  @Test func `a test reads a board of its plugin, for each case anew`() {
    let folder = RulesFolderOnDisk([
      "ranks/plugin.lua": """
      plugin { name = "ranks", version = "1.0.0" }
      rule "score" { on = "score", run = function(event) board.add("week", event.data.n, { keep = "7d" }) end }
      """,
      "ranks/tests/t.lua": """
      test "board" (function(t)
        t:event("user:1", "score", { n = 2 })
        t:event("user:2", "score", { n = 2.5 })
        t:each({ one = 1, two = 2 }, function(n)
          t:event("user:1", "score", { n = n })
          t:equal(t:board("week"), { { subject = "user:1", score = 2 + n, rank = 1 }, { subject = "user:2", score = 2.5, rank = 2 } })
        end)
        t:equal(#t:board("week"), 2)
        t:equal(t:board("other"), {})
        t:advance("7d")
        t:equal(t:board("week"), {})
      end)
      """,
    ])
    let run = run(folder)
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test func `every method of the driver does as it says`() {
    let run = run(
      folder(
        """
        test "driver" (function(t)
          t:equal(t:now(), calendar.parse("2025-01-01T00:00:00Z"))
          t:at("2025-11-10T08:00:00Z")
          local first = t:event("user:1", "app.launched", { platform = "ios" })
          t:equal(first.decisions.greeting, "Good morning")
          t:equal(first.decisions, { greeting = "Good morning" })
          t:equal(first.all.greeter, first.decisions)
          t:equal(first.failures, {})
          t:equal(#first.effects, 1)
          t:equal(t:event("user:1", "app.launched").decisions, {})
          t:equal(t:state("user:1").greetings, 1)
          t:equal(t:state("user:3"), {})
          t:equal(t:query("user:1", "greetings", { a = 1 }), { count = 1, args = { a = 1 } })
          t:equal(t:query(nil, "greeter.greetings").count, 0)
          t:equal(t:effects("user:1")[1].type, "greeted")
          t:equal(t:effects("user:2"), {})
          local request = t:sink(t:effects("user:1")[1])
          t:equal(request.url, "https://mail.example/greeted")
          t:equal(t:sent(), {})
          t:advance("1d")
          t:equal(t:state("user:1").bye, calendar.parse("2025-11-10T09:00:00Z"))
          t:equal(t:sent(), { { subject = "user:2", type = "heard", data = { at = t:state("user:1").bye }, from = "user:1" } })
          t:equal(t:state("user:2").heard, t:state("user:1").bye)
          local second = t:event("user:1", "app.launched").effects[1]
          local none, why = t:sink(second, "mail")
          t:equal(none, nil)
          t:equal(why, "only the first")
          t:equal(t:web({ host = "Hello.Example:80", path = "/x", query_string = "a=b" }).body, "GET/xb")
          t:equal(t:web({ host = "hello.example", method = "POST", query = { a = "c" } }).body, "POST/c")
          t:truthy(t:event("user:1", "x", nil, { id = "1" }).duplicate == false)
          t:truthy(t:event("user:1", "x", nil, { id = "1" }).duplicate)
          t:settings { words = "Hi" }
          t:equal(t:event("user:4", "app.launched").decisions.greeting, "Hi")
          t:fails(function() t:at("noon") end, "RFC 3339")
          t:fails(function() t:query("user:1", "nothing") end, "no query")
          t:fails(function() t:web { host = "other.example" } end, "other.example")
          local misspelt = "it has an unknown member 'stauts'; did you mean 'status'?"
          t:fails(function() t:web { host = "hello.example", path = "/misspelt" } end, misspelt)
          first.effects[1].type = "misspelt"
          t:fails(function() t:sink(first.effects[1]) end, "the request has an unknown member; did you mean 'url'?")
        end)
        test "each test begins anew" (function(t)
          t:equal(t:state("user:1"), {})
          t:equal(t:sent(), {})
          t:equal(t:event("user:1", "app.launched").decisions.greeting, "Good morning")
        end)
        """))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
    #expect(run.output.contains("2 tests passed, 0 failed"))
  }

  @Test func `effects say when and on whom, counters can be read, and time moves by any duration`() {
    let counting = """
      plugin { name = "meter", sinks = { "client" } }
      rule "use" { on = "used", run = function(event)
        count("meter.used", { kind = event.data.kind })
        emit("client", "used", {})
      end }
      """
    let tests = """
      test "figures" (function(t)
        t:at("2025-11-10T08:00:00.5Z")
        local first = t:event("user:1", "used", { kind = "a" }, { id = "1" }).effects
        t:equal(first, t:effects("user:1"))
        t:advance("1h30m")
        t:equal(t:event("user:1", "used", { kind = "a" }, { id = "1" }).effects, first)
        t:advance("1w")
        t:advance("0s")
        t:event("user:1", "used", { kind = "a" })
        t:event("user:2", "used", { kind = "b" })
        local effects = t:effects("user:1")
        t:equal(effects[1].at, "2025-11-10T08:00:00.500Z")
        t:equal(effects[2].at, "2025-11-17T09:30:00.500Z")
        t:equal(effects[2].subject, "user:1")
        t:equal(t:counters(), {
          { name = "meter.used", labels = { kind = "a" }, value = 2 }, { name = "meter.used", labels = { kind = "b" }, value = 1 },
        })
        t:fails(function() t:advance("1x") end, "1h30m")
      end)
      """
    let run = run(folder("local nothing = 1", ["meter/plugin.lua": counting, "meter/tests/t.lua": tests]))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test func `a subject is given topics as export shows them, and gets their publications`() {
    let plugin = """
      plugin { name = "news", version = "1" }
      rule "go" { on = "go", run = function() publish("all", "came") end }
      rule "came" { on = "came", run = function(_, state) state.came = topic.joined("all") end }
      """
    let tests = """
      test "given" (function(t)
        t:given("user:1", 1, {}, { topics = { "news/all" } })
        t:event("author", "go")
        t:equal(t:state("user:1"), { came = true })
        t:fails(function() t:given("user:1", 1, {}, { topics = { "nesw/all" } }) end, "there is no plugin 'nesw'")
        t:fails(function() t:given("user:1", 1, {}, { topics = { "all" } }) end, "names such as .plugin/topic.")
        t:fails(function() t:given("user:1", 1, {}, { topics = "news/all" }) end, "must be a list")
      end)
      """
    let run = run(folder("local nothing = 1", ["news/plugin.lua": plugin, "news/tests/t.lua": tests]))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test func `a subject is given timers and once keys as export shows them`() {
    let tests = """
      test "given" (function(t)
        t:at("2025-11-10T08:00:00Z")
        t:given("user:1", 4, { greeter = { version = 1, state = { greetings = 3 } } }, {
          timers = { { plugin = "greeter", name = "bye", due = "2025-11-10T09:00:00.000Z", type = "bye", data = { to = "user:2" } } },
          once = { { plugin = "greeter", key = "greeted:2025-11-10" }, { plugin = "greeter", key = "x", expires = "2025-11-11T00:00:00Z" } },
        })
        t:equal(t:state("user:1"), { greetings = 3 })
        t:equal(t:event("user:1", "app.launched").decisions, {})
        t:advance("59m")
        t:equal(t:state("user:1").bye, nil)
        t:advance("1m")
        t:equal(t:state("user:1").bye, calendar.parse("2025-11-10T09:00:00Z"))
        t:equal(t:sent()[1].subject, "user:2")
        t:fails(function() t:given("user:1", 1, {}, { timer = {} }) end, "'timer' is not known; known are timers, once, topics")
        t:fails(function() t:given("user:1", 1, {}, { timers = { { plugin = "greeter", name = "bye", type = "bye" } } }) end, "needs 'due'")
        t:fails(function() t:given("user:1", 1, {}, { once = { { plugin = "greeter" } } }) end, "needs 'key'")
        t:fails(function() t:given("user:1", 1, {}, { once = { { plugin = "greter", key = "a" } } }) end, "did you mean 'greeter'")
      end)
      """
    let run = run(folder(tests))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test func `a captured test fails if no rule runs`() {
    let run = run(
      folder(
        """
        test "runs" (function(t) t:captured() t:event("user:1", "app.launched") end)
        test "runs none" (function(t)
          t:captured()
          t:event("user:1", "nobody.hears")
        end)
        """))
    #expect(run.exit == .no)
    #expect(run.output.contains("FAIL runs none  greeter/tests/t.lua:2\n    no rule ran"), "\(run.output)")
    #expect(run.output.contains("1 test passed, 1 failed"))
  }

  @Test func `a comparison says where the first difference is`() {
    let run = run(
      folder(
        """
        test "list" (function(t)
          t:equal({ b = { { x = 1 }, { ["a b"] = { 1, 2 } } }, z = 1 }, { b = { { x = 1 }, { ["a b"] = { 1, 3 } } }, z = 2 })
        end)
        test "missing" (function(t) t:equal({ 1 }, { 1, 2 }) end)
        """))
    #expect(run.output.contains("first b[2][\"a b\"][2]: expected 3, got 2\n"), "\(run.output)")
    #expect(run.output.contains("first [2]: expected 2, got nil\n"), "\(run.output)")
  }

  @Test func `a failure shows both values and the line and exits with one`() {
    let run = run(
      folder(
        """
        test "wrong" (function(t)
          t:equal(t:event("user:1", "app.launched").decisions, { greeting = "Hello" })
        end)
        test "right" (function(t) t:truthy(true) end)
        test "raises" (function() error("no") end)
        """))
    #expect(run.exit == .no)
    #expect(run.output.contains("greeter/tests/t.lua:2"))
    #expect(run.output.contains("expected {\"greeting\":\"Hello\"}"))
    #expect(run.output.contains("got {\"greeting\":\"Good morning\"}"))
    #expect(run.output.contains("greeter/tests/t.lua:5"))
    #expect(run.output.contains("1 test passed, 2 failed"))
  }

  @Test func `the other plugins are there too`() {
    let tests = """
      test "both" (function(t)
        local outcome = t:event("user:1", "app.launched")
        t:equal(outcome.decisions, { greeting = "Good morning" })
        t:equal(outcome.all, { greeter = { greeting = "Good morning" }, other = { type = "app.launched" } })
      end)
      """
    let other = "plugin { name = 'other' } rule 'r' { on = '*', run = function(e) decide('type', e.type) end }"
    let run = run(folder(tests, ["other/plugin.lua": other]))
    #expect(run.exit == .done, "\(run.output)")
  }

  @Test func `one folder runs one plugin and a filter only what it names`() {
    let folder = folder(
      "test 'morning' (function() end) test 'evening' (function() end)",
      ["other/plugin.lua": "plugin { name = 'other' }", "other/tests/o.lua": "test 'other' (function() end)"])
    #expect(run(folder).output.contains("3 tests passed"))
    let one = Run(words: ["test", folder.path + "/other"])
    #expect(one.output.contains("1 test passed"))
    #expect(run(folder, ["--filter", "m*ning"]).output.contains("1 test passed"))
    #expect(run(folder, ["--filter", "other"]).output.contains("1 test passed"))
  }

  @Test func `nothing run is a failure`() {
    let none = run(folder("local nothing = 1 return nothing"))
    #expect(none.exit == .no)
    #expect(none.errors.contains("there is no test"))
    #expect(run(folder("test 'a' (function() end)"), ["--filter", "zzz"]).exit == .no)
  }

  @Test func `a plugin that does not load exits with two and names the place`() {
    let broken = run(
      folder("test 'a' (function() end)", ["broken/plugin.lua": "plugin { name = 'broken' }\nlocal x = = 1"]))
    #expect(broken.exit == .failed)
    #expect(broken.errors.contains("broken/plugin.lua:2"))
    let test = run(folder("test 'a' (function() end\n"))
    #expect(test.exit == .failed)
    #expect(test.errors.contains("greeter/tests/t.lua:"))
  }

  @Test func `a test that never ends is stopped and the others run`() {
    let run = run(folder("test 'loops' (function() while true do end end) test 'fine' (function(t) t:truthy(1) end)"))
    #expect(run.exit == .no)
    #expect(run.output.contains("processor time"))
    #expect(run.output.contains("1 test passed, 1 failed"))
  }

  @Test func `a rule that is stopped in one test is well in the next`() {
    let plugin =
      "plugin { name = 'p' } rule 'r' { on = 'loop', run = function() while true do end end } "
      + "rule 'n' { on = 'n', run = function() decide('n', 1) end }"
    let tests = """
      test "stopped" (function(t)
        for _ = 1, 4 do t:equal(#t:event("user:1", "loop").failures, 1) end
      end)
      test "well" (function(t) t:equal(t:event("user:1", "n").decisions.n, 1) end)
      """
    let run = run(RulesFolderOnDisk(["p/plugin.lua": plugin, "p/tests/t.lua": tests]))
    #expect(run.exit == .done, "\(run.output)")
  }

  @Test func `coverage names the lines that never ran and the threshold holds`() {
    let folder = folder("test 'a' (function(t) t:event('user:1', 'app.launched') end)", ["lib/unused.lua": "return 1"])
    let run = run(folder, ["--coverage"])
    #expect(run.exit == .done)
    let line = run.output.split(separator: "\n").first { $0.hasPrefix("greeter/plugin.lua") }
    #expect(line?.contains("10-11") == true, "\(run.output)")
    #expect(!run.output.contains("unused.lua"))
    #expect(self.run(folder, ["--threshold", "100"]).exit == .no)
    #expect(self.run(folder, ["--threshold", "10"]).exit == .done)
  }

  @Test func `a function on one line counts when it ran, and so does each branch`() throws {
    let plugin = """
      plugin { name = "p" }
      local function never() return 1 end
      local function sign(n) if n > 0 then return 1 elseif n < 0 then return -1 end return 0 end
      rule "r" { on = "x", run = function(event) decide("sign", sign(event.data.n or 5)) end }
      rule "s" { on = "y", run = function() never() end }
      """
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": plugin, "p/tests/t.lua": "test 'a' (function(t) t:event('user:1', 'x', { n = 3 }) end)",
    ])
    let text = Run(words: ["test", folder.path, "--coverage"])
    let line = text.output.split(separator: "\n").first { $0.hasPrefix("p/plugin.lua") } ?? ""
    #expect(line.hasSuffix("5/5        2/4       1/4  61.5  functions 2, 5; branches 3-4"), "\(text.output)")
    let json = try JSONValue(parsing: Run(words: ["test", folder.path, "--coverage", "--json"]).output)
    let file = json["coverage"]?["files"]?[0]
    #expect(file?["functions"] == ["all": 4, "ran": 2, "missed": [2, 5]])
    #expect(file?["branches"]?["missed"] == [3, 4])
    let jobs = Run(words: ["test", folder.path, "--coverage", "--jobs", "3"])
    #expect(jobs.output.contains("2/4"))
  }

  @Test func `the check of a setting counts when a test sets it, and its changes are noticed`() {
    let folder = RulesFolderOnDisk([
      "p/plugin.lua": """
      plugin { name = "p", settings = { n = 1 } }
      setting "n" { type = "integer", check = function(n) return n ~= 2 and n ~= 3, "not this" end }
      rule "r" { on = "x", run = function() decide("n", settings.n) end }
      """,
      "p/tests/t.lua": """
      test "a" (function(t)
        for n = 2, 3 do t:fails(function() t:settings { n = n } end, "not this") end
        t:settings { n = 4 }
        t:equal(t:event("user:1", "x").decisions.n, 4)
      end)
      """,
    ])
    let tests = Run(words: ["test", folder.path, "--coverage"])
    #expect(tests.output.contains("3/3        2/2       1/1  100.0"), "\(tests.output)")
    let mutants = Run(words: ["mutate", folder.path])
    #expect(mutants.exit == .done && !mutants.output.contains("no test"), "\(mutants.output)")
  }

  @Test func `several folders of one rules folder are several plugins`() {
    let folder = folder(
      "test 'a' (function() end)",
      [
        "other/plugin.lua": "plugin { name = 'other' }", "other/tests/o.lua": "test 'other' (function() end)",
        "third/plugin.lua": "plugin { name = 'third' }", "third/tests/o.lua": "test 'third' (function() end)",
      ])
    let two = Run(words: ["test", folder.path + "/other", folder.path + "/third"])
    #expect(two.output.contains("2 tests passed") && !two.output.contains("greeter"))
    let elsewhere = RulesFolderOnDisk(["p/plugin.lua": "plugin { name = 'p' }"])
    let refused = Run(words: ["test", folder.path + "/other", elsewhere.path + "/p"])
    #expect(refused.exit == .failed)
    #expect(refused.errors.contains("is in another rules folder"))
  }

  @Test func `jobs share the tests and keep their order`() {
    let folder = folder(
      "for n = 1, 60 do test('test ' .. n)(function(t) t:equal(n % 20, n == 40 and 1 or n % 20) end) end")
    let one = run(folder, ["--json"]), four = run(folder, ["--json", "--jobs", "4"])
    let names = { (run: Run) in
      (try? JSONValue(parsing: run.output))?["tests"]?.arrayValue?.map { $0["name"]?.stringValue ?? "" } ?? []
    }
    #expect(names(one).count == 60)
    #expect(names(one) == names(four))
    #expect(four.exit == .no)
  }

  @Test func `JUnit has each test, and of a failure the message, the place and the log`() throws {
    let folder = folder(
      "test 'a <b>' (function(t) t:equal(1, 2) end) test 'c' (function() end)",
      [
        "p/plugin.lua":
          "plugin { name = 'p' } rule 'r' { on = 'x', run = function() log.warn('careful') error('no') end }",
        "p/tests/t.lua": "test 'd' (function(t) t:event('user:1', 'x') end)",
      ])
    let path = folder.path + "/out.xml"
    #expect(run(folder, ["--junit", path]).exit == .no)
    let text = String(decoding: try Input(path: path).readAll(), as: UTF8.self)
    #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"3\" failures=\"2\""))
    #expect(text.contains("name=\"a &lt;b&gt;\" file=\"greeter/tests/t.lua\" line=\"1\""))
    #expect(text.contains("<failure message=\"expected 2\">greeter/tests/t.lua:1&#10;expected 2"), "\(text)")
    #expect(text.contains("<system-out>warn p/r: careful</system-out>"))
    #expect(run(folder, ["--junit", "/nonexistent/out.xml"]).errors.contains("cannot write '/nonexistent/out.xml'"))
  }

  @Test func `a change of a file is noticed, and a slow test is named`() throws {
    let folder = folder("test 'slow' (function() local n = 0 for i = 1, 60000000 do n = n + i end return n end)")
    let changes = RulesChanges(try RulesSelection([folder.path]))
    #expect(!changes.haveCome)
    folder.write("greeter/tests/other.lua", "test 'b' (function() end)")
    #expect(changes.haveCome)
    #expect(run(folder, ["--filter", "slow"]).output.contains("greeter slow\n"))
  }

  @Test func `JSON has every test and the coverage`() throws {
    let folder = folder("test 'a' (function(t) t:equal(1, 2) end) test 'b' (function() end)")
    let run = run(folder, ["--json", "--coverage"])
    let json = try JSONValue(parsing: run.output)
    #expect(run.exit == .no)
    #expect(json["passed"] == 1 && json["failed"] == 1)
    #expect(json["tests"]?[0]?["name"] == "a")
    #expect(json["tests"]?[0]?["failure"]?["line"] == 1)
    #expect(json["tests"]?[1]?["passed"] == true)
    #expect(json["coverage"]?["files"]?[0]?["file"] == "greeter/plugin.lua")
  }

  @Test func `a thousand tests run`() {
    let tests = "for n = 1, 1000 do test('test ' .. n)(function(t) t:event('user:' .. n, 'app.launched') end) end"
    let run = run(folder(tests))
    #expect(run.output.contains("1,000 tests passed"))
  }
}
