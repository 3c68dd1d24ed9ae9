import RuledCore
import RuledJSON
import RuledTool
import Testing

@Suite struct MutateCommandTests {
  private static let plugin = """
    plugin { name = "p" }
    local LIMIT = 3
    rule "r" { on = "x", run = function(event, state)
      state.n = (state.n or 0) + 1
      if state.n >= LIMIT and not event.data.quiet then decide("many", true) end
    end }
    rule "never" { on = "y", run = function(_, state) state.n = 0 end }
    """
  private static let test = """
    test "third" (function(t)
      t:equal(t:event("user:1", "x").decisions.many, nil)
      t:equal(t:event("user:1", "x").decisions.many, nil)
      t:equal(t:event("user:1", "x").decisions.many, true)
      t:equal(t:event("user:1", "x", { quiet = true }).decisions.many, nil)
      t:equal(t:state("user:1").n, 4)
    end)
    """

  private func mutate(_ plugin: String, _ test: String, _ options: [String] = []) -> Run {
    let folder = RulesFolderOnDisk(["p/plugin.lua": plugin, "p/tests/t.lua": test])
    return withExtendedLifetime(folder) { Run(words: ["mutate", folder.path] + options) }
  }

  @Test func `a mutation that no test notices is named with its line and change`() throws {
    let run = mutate(Self.plugin, Self.test)
    #expect(run.exit == .done, "\(run.errors)")
    let lines = run.output.split(separator: "\n").filter { $0.hasPrefix("p/") }
    #expect(lines == ["p/plugin.lua:7: 0  →  1  no test runs it"], "\(run.output)")
    let weaker = mutate(Self.plugin, Self.test.replacing("t:equal(t:state(\"user:1\").n, 4)", with: ""))
    #expect(weaker.output.contains("p/plugin.lua:7: 0  →  1  no test runs it"))
    let blind = mutate(Self.plugin, "test 'a' (function(t) t:event('user:1', 'x') end)")
    #expect(blind.output.contains("p/plugin.lua:5: >=  →  >  no test notices"), "\(blind.output)")
    #expect(blind.output.contains("p/plugin.lua:4: +  →  -  no test notices"))
    #expect(blind.output.contains("p/plugin.lua:5: not  →    no test runs it"))
  }

  @Test func `the threshold holds, and the result is the same with several jobs`() throws {
    let options = ["--json", "--threshold", "95"]
    let one = mutate(Self.plugin, Self.test, options + ["--jobs", "1"])
    let four = mutate(Self.plugin, Self.test, options + ["--jobs", "4"])
    #expect(one.exit == .no)
    #expect(one.errors.contains("% of the changes, less than 95 %"))
    #expect(one.output == four.output)
    let json = try JSONValue(parsing: one.output)
    let changes = json["changes"]?.arrayValue ?? []
    #expect(changes.count { $0["result"] == "unreached" } == 1)
    #expect(changes.contains { $0["result"] == "killed" && $0["test"] == "third" })
    #expect(mutate(Self.plugin, Self.test, ["--threshold", "80"]).exit == .done)
  }

  @Test func `a change may make a file longer that fills the limit`() {
    let plugin = "plugin { name = 'p' } rule 'r' { on = 'x', run = function(_, state) state.n = 9 end }\n--"
    let filled = plugin + String(repeating: "-", count: Limits.sourceFileBytes - plugin.utf8.count)
    let run = mutate(filled, "test 'a' (function(t) t:event('user:1', 'x') end)")
    #expect(run.output.contains("p/plugin.lua:1: 9  →  10  no test notices"), "\(run.output)\(run.errors)")
  }

  @Test func `a change that makes a test run on and on is stopped and counts as noticed`() throws {
    let plugin = """
      plugin { name = "p" }
      query "sum" (function()
        local n, sum = 10, 0
        while n > 0 do
          sum = sum + n
          n = n - 1
        end
        return sum
      end)
      """
    let run = mutate(plugin, "test 'a' (function(t) t:equal(t:query(nil, 'sum'), 55) end)", ["--json"])
    let changes = try JSONValue(parsing: run.output)["changes"]?.arrayValue ?? []
    #expect(changes.contains { $0["result"] != "survived" && $0["change"] == "-  →  +" }, "\(run.output)")
  }

  @Test func `tests that fail without a change are a failure, and so is nothing to change`() {
    let failing = mutate(Self.plugin, "test 'wrong' (function(t) t:equal(1, 2) end)")
    #expect(failing.exit == .no)
    #expect(failing.errors.contains("1 test failed without a change, first 'wrong' of p; run 'rulectl test'"))
    let nothing = mutate("plugin { name = 'p' }", "test 'a' (function() end)")
    #expect(nothing.exit == .no)
    #expect(nothing.errors.contains("there is nothing to change"))
    #expect(mutate("plugin {", "").exit == .failed)
  }

  @Test func `mutations of code that runs when a plugin loads are tried with all tests`() throws {
    let plugin = """
      plugin { name = "p" }
      local function double(n) return n * 2 end
      local names = {}
      for _, name in ipairs { "a", "b*" } do
        if name:sub(-1) == "*" then names[name] = double(5) end
      end
      rule "r" { on = "x", run = function() decide("n", names["b*"]) decide("a", names.a or 0) end }
      """
    let test =
      "test 'first' (function() end) test 'second' (function(t) t:equal(t:event('u', 'x').decisions, { n = 10, a = 0 }) end)"
    let run = mutate(plugin, test, ["--json"])
    let changes = try JSONValue(parsing: run.output)["changes"]?.arrayValue ?? []
    let unnoticed = changes.filter { !["killed", "refused", "endless"].contains($0["result"]?.stringValue) }
    #expect(changes.count > 5 && unnoticed.isEmpty, "\(unnoticed)")
  }

  @Test func `files and tests can be chosen`() throws {
    let chosen = mutate(Self.plugin, Self.test, ["--file", "other.lua"])
    #expect(chosen.exit == .no)
    let run = mutate(Self.plugin, Self.test, ["--filter", "nothing", "--json"])
    let changes = try JSONValue(parsing: run.output)["changes"]?.arrayValue ?? []
    #expect(!changes.isEmpty && changes.allSatisfy { $0["result"] == "unreached" }, "\(run.output)")
  }

  @Test func `changes of a library that only tests require are tried`() throws {
    let folder = RulesFolderOnDisk([
      "lib/double.lua": "return { of = function(n) return n * 2 end }",
      "lib/tests/plugin.lua": "plugin { name = 'lib' }",
      "lib/tests/t.lua": "local double = require 'double' test 'a' (function(t) t:equal(double.of(3), 6) end)",
    ])
    let run = withExtendedLifetime(folder) { Run(words: ["mutate", folder.path + "/lib", "--json"]) }
    let changes = try JSONValue(parsing: run.output)["changes"]?.arrayValue ?? []
    #expect(!changes.isEmpty && changes.allSatisfy { $0["result"] == "killed" }, "\(run.output)\(run.errors)")
  }
}
