import RuledTool
import TestSupport
import Testing

/// The mistakes of `docs/mistakes.md`, each planted in a plugin of `examples/rules`, are found by what the page says.
@Suite struct MistakesPageTests {
  private struct Mistake {
    let plugin: String
    /// What stands in the plugin, and what is planted in its place.
    let right: String
    let wrong: String
    /// A part of the message that finds it; empty where nothing does.
    let message: String
  }

  private static let project = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
  /// The plugins, and the file of tests that each has.
  private static let plugins = [
    "classes": "places", "coffee": "card", "dunning": "reminders", "experiments": "arms", "fraud": "payments",
    "referrals": "pairs",
  ]

  /// The rows of the section with that heading.
  private static func mistakes(_ heading: String) -> [Mistake] {
    let page = TemporaryFolder.read("\(project)/docs/mistakes.md")
    let section = page.split(separator: "\n## ").first { $0.hasPrefix("\(heading)\n") }
    return (section ?? "").split(separator: "\n").compactMap { line in
      let cells = line.replacing("\\|", with: "\u{1}").split(separator: "|", omittingEmptySubsequences: false).map {
        let cell = $0.dropFirst().dropLast().replacing("\u{1}", with: "|")
        return cell.first == "`" ? String(cell.dropFirst().dropLast()) : String(cell)
      }
      guard cells.count == 7, plugins[cells[2]] != nil else { return nil }
      return Mistake(plugin: cells[2], right: cells[3], wrong: cells[4], message: cells[5])
    }
  }

  private static func text(_ plugin: String) -> String {
    TemporaryFolder.read("\(project)/examples/rules/\(plugin)/plugin.lua")
  }

  /// Runs `rulectl` on a plugin of the examples with another text.
  private static func run(_ command: String, _ plugin: String, _ text: String) -> Run {
    let folder = RulesFolderOnDisk(["\(plugin)/plugin.lua": text])
    for module in ["window", "experiment", "fields"] {
      folder.write("lib/\(module).lua", TemporaryFolder.read("\(project)/rules/lib/\(module).lua"))
    }
    let tests = "\(plugin)/tests/\(plugins[plugin] ?? "").lua"
    folder.write(tests, TemporaryFolder.read("\(project)/examples/rules/\(tests)"))
    return withExtendedLifetime(folder) { Run(words: [command, "\(folder.path)/\(plugin)"]) }
  }

  @Test(arguments: plugins.keys.sorted())
  func `Check finds what the page says that it finds, many mistakes at once`(plugin: String) {
    var waiting = Self.mistakes("Found by `rulectl check`").filter { $0.plugin == plugin }
    while !waiting.isEmpty {
      // Mistakes in different lines don't hide each other.
      var lines = Self.text(plugin).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      var changed: Set<Int> = [], planted: [Mistake] = [], later: [Mistake] = []
      for mistake in waiting {
        guard let line = lines.firstIndex(where: { $0.contains(mistake.right) }), changed.insert(line).inserted else {
          later.append(mistake)
          continue
        }
        lines[line] = lines[line].replacing(mistake.right, with: mistake.wrong, maxReplacements: 1)
        planted.append(mistake)
      }
      let run = Self.run("check", plugin, lines.joined(separator: "\n"))
      for mistake in planted { #expect(run.output.contains(mistake.message), "\(mistake.wrong): \(run.output)") }
      guard !planted.isEmpty else {
        Issue.record("\(plugin) has no '\(later[0].right)'")
        return
      }
      waiting = later
    }
  }

  @Test(arguments: [
    ("Found when it is loaded", "check"), ("Found when the rule runs", "test"), ("Found by tests", "test"),
  ])
  func `Each mistake is found by itself`(heading: String, command: String) {
    let mistakes = Self.mistakes(heading)
    #expect(!mistakes.isEmpty)
    for mistake in mistakes {
      let text = Self.text(mistake.plugin)
      #expect(text.contains(mistake.right))
      let run = Self.run(
        command, mistake.plugin, text.replacing(mistake.right, with: mistake.wrong, maxReplacements: 1))
      #expect(run.exit == .no && run.output.contains(mistake.message), "\(mistake.wrong): \(run.output)\(run.errors)")
    }
  }

  @Test func `Two thirds of the mistakes are found before a test is written, or by declarations`() {
    let declared = ["Found when it is loaded", "Found by `rulectl check`", "Found when the rule runs"]
    let found = declared.flatMap(Self.mistakes).count
    let all = found + Self.mistakes("Found by tests").count + Self.mistakes("Found by nothing").count
    #expect(all >= 90 && found * 3 >= all * 2)
  }
}
