import Glibc
import RuledCore
import RuledJSON
import RuledTool
import TestSupport
import Testing

/// Tables of cases, properties, snapshots and replayed events in tests of rules.
@Suite struct TestCasesTests {
  private static let plugin = """
    plugin { name = "p" }
    rule "add" { on = "add", run = function(event, state)
      if event.data.n > 100 then error("too many") end
      state.sum = (state.sum or 0) + event.data.n
      decide("sum", state.sum)
      send("user:2", "heard", { n = event.data.n })
    end }
    rule "hear" { on = "heard", run = function(event, state) state.heard = now() end }
    """

  private func folder(_ test: String) -> RulesFolderOnDisk {
    RulesFolderOnDisk(["p/plugin.lua": Self.plugin, "p/tests/t.lua": test])
  }

  private func run(_ folder: RulesFolderOnDisk, _ options: [String] = []) -> Run {
    Run(words: ["test", folder.path] + options)
  }

  private func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  @Test func `each case begins as the test stood and its failure names it`() {
    let passing = run(
      folder(
        """
        test "cases" (function(t)
          t:event("user:1", "add", { n = 5 })
          t:advance("1h")
          local seen = 0
          t:each({ one = { n = 1, sum = 6 }, two = { n = 2, sum = 7 } }, function(case, name)
            seen = seen + 1
            t:truthy(name == "one" or name == "two")
            t:equal(t:event("user:1", "add", { n = case.n }).decisions.sum, case.sum)
            t:equal(#t:sent(), 2)
            t:advance("1d")
          end)
          t:equal(seen, 2)
          t:equal(t:state("user:1").sum, 5)
          t:equal(#t:sent(), 1)
          t:equal(t:now(), calendar.parse("2025-01-01T01:00:00Z"))
        end)
        """))
    #expect(passing.exit == .done, "\(passing.output)")
    let failing = run(
      folder(
        """
        test "wrong" (function(t)
          t:each({ fine = 1, wrong = 2 }, function(n)
            t:equal(t:event("user:1", "add", { n = n }).decisions.sum, 1)
          end)
        end)
        test "raises" (function(t)
          t:each({ 1, 101 }, function(n) t:event("user:1", "add", { n = n }) end)
        end)
        test "none" (function(t)
          t:each({}, function() end)
        end)
        """))
    #expect(failing.exit == .no)
    #expect(failing.output.contains("case wrong: expected 1\n         got 2"), "\(failing.output)")
    #expect(failing.output.contains("p/tests/t.lua:3"))
    #expect(failing.output.contains("case 2 101: rule 'add' of plugin 'p' failed on 'add' of user:1 (error): too many"))
    #expect(failing.output.contains("t:each has no cases"))
    #expect(failing.output.contains("p/tests/t.lua:10"))
  }

  private static let property = """
    test "sums" (function(t)
      t:property(200, function(random)
        return random:list(20, function(r) return r:integer(-50, 150) end)
      end, function(list)
        for _, n in ipairs(list) do t:event("user:1", "add", { n = n }) end
      end)
    end)
    """

  @Test func `a property shrinks failing values to the simplest and prints the seed`() {
    let folder = folder(Self.property)
    let first = run(folder, ["--seed", "7"])
    #expect(first.exit == .no)
    #expect(first.output.contains("the property fails for [101] (run "), "\(first.output)")
    #expect(first.output.contains("to repeat: --seed 7)"))
    #expect(first.output.contains("too many"))
    let lines = { (run: Run) in
      run.output.split(separator: "\n").filter { !$0.contains(" in ") && !$0.hasPrefix("slow") }
    }
    #expect(lines(first) == lines(run(folder, ["--seed", "7"])))
    #expect(run(folder).output.contains("--seed "))
  }

  @Test func `a generator that fails is told as such, and values are not shrunk to what it fails on`() {
    let pick = "function(r) return r:pick {} end"
    let alone = run(folder("test 'a' (function(t) t:property(5, \(pick), function() end) end)"))
    #expect(alone.output.contains("the generator fails (run 1 of 5, "), "\(alone.output)")
    #expect(alone.output.contains("random:pick takes a list that is not empty"))
    let both = run(
      folder(
        """
        test "a" (function(t)
          t:property(50, function(r)
            local n = r:integer(0, 150)
            if n == 0 then error("no zero") end
            return n
          end, function(n) if n > 0 then error("too many") end end)
        end)
        """), ["--seed", "1"])
    #expect(both.output.contains("the property fails for 1 (run 1 of 50"), "\(both.output)")
  }

  @Test func `a property that holds passes, and each run has a fresh store`() {
    let run = run(
      folder(
        """
        test "holds" (function(t)
          local kinds = {}
          t:property(100, function(r)
            return { n = r:integer(0, 10), x = r:number(0, 1), b = r:boolean(), p = r:pick { "a", "b" }, s = r:text(5) }
          end, function(v)
            kinds[v.p] = true
            t:truthy(v.x >= 0 and v.x < 1 and type(v.b) == "boolean" and utf8.len(v.s) <= 5)
            t:equal(t:event("user:1", "add", { n = v.n }).decisions.sum, v.n)
          end)
          t:equal(kinds, { a = true, b = true })
          t:fails(function() t:property(0, function() end, function() end) end, "number of runs")
        end)
        """))
    #expect(run.exit == .done, "\(run.output)")
  }

  @Test func `a snapshot is written on demand, compared, and tells each difference`() {
    let test = """
      test "snap" (function(t)
        t:event("user:1", "add", { n = 1 })
        t:snapshot("all")
        t:snapshot("state", t:state("user:1"))
      end)
      """
    let folder = folder(test)
    let missing = run(folder)
    #expect(missing.exit == .no)
    #expect(missing.output.contains("there is no snapshot 'all'; write it with 'rulectl test --update-snapshots'"))
    #expect(run(folder, ["--update-snapshots"]).exit == .done)
    #expect(text(folder.path + "/p/tests/state.snapshot.json") == "{\n  \"sum\": 1\n}\n")
    #expect(text(folder.path + "/p/tests/all.snapshot.json").contains("\"heard\""))
    #expect(run(folder).exit == .done)
    folder.write("p/tests/t.lua", test.replacing("n = 1", with: "n = 2"))
    let changed = run(folder)
    #expect(changed.exit == .no)
    #expect(changed.output.contains("the snapshot 'all' differs:"), "\(changed.output)")
    #expect(changed.output.contains("events[1].decisions.p.sum: expected 1, got 2"), "\(changed.output)")
    folder.write("p/tests/t.lua", "test 'a' (function(t) t:snapshot('../x') end)")
    #expect(run(folder).output.contains("a snapshot's name has letters"))
  }

  @Test func `recorded events are replayed at their own times`() {
    let folder = folder(
      """
      test "day" (function(t)
        local outcomes = t:replay "day.ndjson"
        t:equal(#outcomes, 2)
        t:equal(outcomes[2].decisions.sum, 3)
        t:equal(t:now(), calendar.parse("2025-03-01T10:00:00Z"))
      end)
      test "bad" (function(t) t:replay "bad.ndjson" end)
      test "none" (function(t) t:replay "none.ndjson" end)
      test "outside" (function(t) t:replay "../plugin.lua" end)
      """)
    folder.write(
      "p/tests/day.ndjson",
      """
      {"type":"add","subject":"user:1","data":{"n":1},"time":"2025-03-01T09:00:00Z"}

      {"type":"add","subject":"user:1","data":{"n":2},"time":"2025-03-01T10:00:00Z"}
      """)
    folder.write("p/tests/bad.ndjson", "{\"type\":\"add\"}\n")
    let run = run(folder)
    #expect(run.output.contains("1 test passed, 3 failed"), "\(run.output)")
    #expect(run.output.contains("event.subject: is required"))
    #expect(run.output.contains("none.ndjson': No such file"))
    #expect(run.output.contains("t:replay takes the name of a file beside the test"))
  }
}
