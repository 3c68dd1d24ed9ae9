import Glibc
import TestSupport
import Testing

@testable import RuledTool

/// The queries of the shipped plugins that read the figures of all days, and have the usual budget.
@Suite(.enabled(if: access("rules/attribution", F_OK) == 0, "runs in the repository"))
struct YearOfFiguresTests {
  /// A plugin, what happens on each `day`, and a query with how many figures it has of the year.
  static let stories = [
    (
      "attribution",
      """
      for _, source in ipairs { "facebook", "instagram", "google", "tiktok", "apple", "email", "news", "" } do
        local url = "app://open?utm_source=" .. source
        t:event("device:" .. day .. source, "app.launched", { platform = "ios", url = url })
      end
      """, "t:equal(#t:query(nil, 'installs', YEAR).installs, 8 * 365)"
    ),
    (
      "gamification",
      """
      for _, type in ipairs { "app.opened", "flirts.generated", "flirt.copied", "flirt.rated" } do
        t:event("user:" .. day, type, { rating = 5 })
      end
      for _ = 1, 50 do t:event("user:" .. day, "flirt.revealed", {}) end
      t:event("user:" .. day, "points.spent", { amount = 1 })
      """, "t:equal(#t:query(nil, 'totals', YEAR).points, 8 * 365)"
    ),
    (
      "onboarding",
      """
      for _, type in ipairs { "user.signed_in", "bell.opened", "stamp.claim" } do
        t:event("user:" .. day, type, { stamp = "welcome" })
      end
      """, "t:equal(t:query(nil, 'metrics', YEAR).claimed_7d, 365)"
    ),
  ]

  @Test(arguments: stories)
  func `a query of a year takes a tenth of the budget`(plugin: String, day: String, query: String) {
    let folder = TemporaryFolder()
    #expect(Program.run("cp", ["-r", "rules/lib", "rules/\(plugin)", folder.path]).code == 0)
    #expect(Program.run("rm", ["-r", folder("\(plugin)/tests"), folder("lib/tests")]).code == 0)
    let start = "plugin {\n"
    let text = folder.read("\(plugin)/plugin.lua")
    folder.replace(
      "\(plugin)/plugin.lua", with: text.replacing(start, with: start + "budget = { instructions = 100000 },\n"))
    folder.write(
      "\(plugin)/tests/year.lua",
      """
      local YEAR = { from = "2025-01-02", to = "2026-01-01" }
      test "a year" (function(t)
        for day = 0, 425 do
          t:at(1735693200 + day * 86400)
          \(day)
        end
        \(query)
      end)

      """)
    let run = Run("test", folder(plugin))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }
}
