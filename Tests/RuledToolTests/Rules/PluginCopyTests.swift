import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledTool

/// `rulectl new --from`.
@Suite struct PluginCopyTests {
  @Test func `a copy counts under its own name, hears the same events of clients, and passes its tests`() {
    let folder = RulesFolderOnDisk([
      "game/plugin.lua": """
      plugin { name = "game", sinks = { "game" } }
      local PLAYED = "game.played"
      event "game.opened" { n = "integer" }
      event "hint.given" { from = "rules" }
      rule "open" { on = "game.opened", run = function(event, state)
        state.n = (state.n or 0) + event.data.n
        count(PLAYED, { how = "game" })
        count("game.opened")
        emit("game", "opened", {})
        if event.data.n < 2 then return end
        send("user:2", "game.told", { by = event.subject })
        raise("hint.given")
      end }
      rule "told" { on = "game.told", run = function(event, state) state.by = event.data.by decide("told", true) end }
      rule "hint" { on = "hint.given", run = function() decide("hint", true) end }
      query "played" (function() return #counters("game.p") end)

      """,
      "game/tests/t.lua": """
      test "counts" (function(t)
        t:given("user:1", 1, { game = { n = 1 } })
        t:event("user:1", "game.opened", { n = 2 })
        t:equal(t:state("user:1").n, 3)
        t:equal(t:query(nil, "game.played"), 1)
        t:equal(t:counters(), {
          { name = "game.opened", labels = {}, value = 1 }, { name = "game.played", labels = { how = "game" }, value = 1 },
        })
        t:equal(t:counters()[1].name == "game.opened", true)
        t:equal(t:effects("user:1")[1].plugin, "game")
        t:equal(t:effects("user:1")[1].sink, "game")
        t:equal(t:decided("user:2"), { game = { told = true } })
        t:equal(t:replay("day.ndjson")[1].all.game, nil)
      end)

      """,
      "game/tests/day.ndjson": "{\"subject\":\"user:3\",\"type\":\"game.opened\",\"data\":{\"n\":0}}\n",
    ])
    #expect(Run("test", folder.path).exit == .done)
    let made = Run("new", "--from", "game", "shop", "--rules", folder.path)
    #expect(made.exit == .done, "\(made.errors)")
    let alone = RulesFolderOnDisk([:])
    #expect(rename(folder.path + "/shop", alone.path + "/shop") == 0)
    let copied = Run("test", alone.path)
    #expect(copied.exit == .done, "\(copied.output)\(copied.errors)")
    let text = (try? Input(path: alone.path + "/shop/plugin.lua").readAll()).map { String(decoding: $0, as: UTF8.self) }
    for expected in [
      "name = \"shop\", sinks = { \"game\" }", "\"shop.played\"", "event \"game.opened\"", "on = \"shop.told\"",
      "\"user:2\", \"shop.told\"", "raise(\"shop.hint.given\")", "on = \"shop.hint.given\"",
      "how = \"game\"", "counters(\"shop.p\")", "count(\"shop.opened\")",
    ] {
      #expect(text?.contains(expected) == true, "\(expected) in \(text ?? "")")
    }
    #expect(Run("new", "--from", "none", "other", "--rules", folder.path).errors.contains("no plugin"))
  }

  @Test(.enabled(if: access("rules/gamification", F_OK) == 0, "runs in the repository"))
  func `a copy of the game loads beside it, and passes its tests without it`() {
    let folder = TemporaryFolder()
    #expect(Program.run("cp", ["-r", "rules/lib", "rules/gamification", folder.path]).code == 0)
    #expect(Run("new", "--from", "gamification", "shop", "--rules", folder.path).exit == .done)
    #expect(Program.run("rm", ["-r", folder("gamification")]).code == 0)
    let run = Run("test", folder("shop"))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test(
    .enabled(if: access("examples/rules", F_OK) == 0, "runs in the repository"),
    arguments: ["classes", "coffee", "dunning", "experiments", "fraud", "referrals"])
  func `an example and its copy pass their tests side by side`(name: String) {
    let folder = TemporaryFolder()
    #expect(Program.run("cp", ["-r", "rules/lib", "examples/rules/\(name)", folder.path]).code == 0)
    #expect(Run("new", "--from", name, "shop", "--rules", folder.path).exit == .done)
    let run = Run("test", folder(name), folder("shop"))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }
}
