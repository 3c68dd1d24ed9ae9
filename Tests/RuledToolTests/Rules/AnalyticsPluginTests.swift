import Glibc
import TestSupport
import Testing

@testable import RuledTool

/// The shipped plugin `analytics`, with files and budgets that are not its own.
@Suite(.enabled(if: access("rules/analytics", F_OK) == 0, "runs in the repository"))
struct AnalyticsPluginTests {
  private let folder = TemporaryFolder()

  init() {
    #expect(Program.run("cp", ["-r", "rules/lib", "rules/analytics", folder.path]).code == 0)
    #expect(Program.run("rm", ["-r", folder("analytics/tests"), folder("lib/tests")]).code == 0)
  }

  /// Replaces a part of one of the plugin's files.
  private func change(_ file: String, _ part: String, to other: String) {
    let text = folder.read("analytics/\(file)")
    #expect(text.contains(part), "\(part) in \(file)")
    folder.replace("analytics/\(file)", with: text.replacing(part, with: other))
  }

  @Test func `a query of a year takes a tenth of the budget`() {
    change("plugin.lua", "instructions = 5000000", to: "instructions = 500000")
    folder.write(
      "analytics/tests/year.lua",
      """
      test "a year" (function(t)
        for day = 0, 365 do
          t:at(1735693200 + day * 86400)
          local user = "device:" .. day % 9
          t:event(user, "settings.analytics_toggled", { enabled = true })
          t:event(user, "session.started", {})
          t:event(user, "screenshot_upload_success", { image_size_kb = 1, upload_duration_ms = 10 })
          for i = 0, 1 do
            local code = "e" .. (2 * day + i) % 60
            t:event(user, "error_displayed", { error_type = "api_error", error_code = code, screen = "home" })
          end
        end
        local year = t:query(nil, "kpis", { from = "2025-01-02", to = "2026-01-01" })
        t:equal({ #year.days, #year.months, year.range.dau, year.range.sessions }, { 365, 13, 1, 365 })
        t:equal(#year.range.errors, 60)
      end)

      """)
    let run = Run("test", folder("analytics"))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test func `a copy counts under its own name`() {
    #expect(Run("new", "--from", "analytics", "shop", "--rules", folder.path).exit == .done)
    folder.write(
      "shop/tests/names.lua",
      """
      test "names" (function(t)
        t:event("user:1", "settings.analytics_toggled", { enabled = true })
        local names = { analytics = 0, shop = 0 }
        for _, counter in ipairs(t:counters()) do
          local name = counter.name:match("^[^.]+")
          names[name] = names[name] + 1
        end
        t:truthy(names.shop > 5)
        t:equal(names.analytics, names.shop)
      end)

      """)
    let run = Run("test", folder("shop"))
    #expect(run.exit == .done, "\(run.output)\(run.errors)")
  }

  @Test(arguments: [
    ("plan.json", "\"form\": \"screen\"", "\"form\": \"page\"", "error_displayed.screen: there is no form 'page'"),
    ("plan.json", "\"type\": \"bool\"", "\"type\": \"boolean\"", "there is no type 'boolean'"),
    (
      "figures.json", "\"figure\": \"copied\"", "\"figure\": \"copies\"",
      "key_figures.copy.pct: nothing counts 'copied'"
    ),
    (
      "figures.json", "\"screenshot_analysis_failed\"", "\"analysis_failed\"", "the plan has no event 'analysis_failed'"
    ),
    (
      "figures.json", "\"sum\": \"upload_duration_ms\"", "\"sum\": \"image_size_kb\"",
      "the plan does not bound image_size_kb"
    ),
  ])
  func `a file that does not fit is refused at load`(file: String, part: String, other: String, message: String) {
    change(file, part, to: other)
    let run = Run("check", folder.path)
    #expect(run.exit == .no)
    #expect((run.output + run.errors).contains("\(file): "), "\(run.output)\(run.errors)")
    #expect((run.output + run.errors).contains(message), "\(run.output)\(run.errors)")
  }
}
