internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

enum DocsCommand: Command {
  static let spec = CommandSpec(
    "docs", "Makes a page on each plugin: events, decisions, effects, queries and settings.",
    synopsis: ["[DIR] [--examples DIR] [--output DIR]"], optional: 1, completes: .folders,
    options: [
      OptionSpec(
        "examples", value: "DIR", "A folder with PLUGIN.ndjson: events whose outcomes become examples.",
        completes: .folders),
      OptionSpec("output", short: "o", value: "DIR", "Writes PLUGIN.md there; else prints.", completes: .folders),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or one plugin's folder. Pages are Markdown. The events of the examples
      are evaluated at their own times in memory, so that the same rules and examples make the same pages.
      """,
    examples: [
      .init("rulectl docs rules/greeter", "the page on one plugin"),
      .init("rulectl docs --examples examples --output docs/plugins", "the pages of this project"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let selection = try RulesSelection(arguments.operands)
    let worker = LuaWorker()
    let catalog = try selection.load(worker: worker)
    if let folder = arguments.value("examples"), access(folder, R_OK | X_OK) != 0 {
      throw ToolError.system("cannot read '\(folder)'")
    }
    for plugin in catalog.plugins where selection.contains(plugin.name) {
      var examples = PluginExamples(plugin.name)
      if let folder = arguments.value("examples") {
        try examples.run("\(folder)/\(plugin.name).ndjson", catalog, worker, environment)
      }
      let page = PluginPage(manifest: plugin.manifest, examples: examples).text
      guard let output = arguments.value("output") else {
        environment.output.write(page.printableLines)
        continue
      }
      try WholeFile.write(Array(page.utf8), to: "\(output)/\(plugin.name).md")
    }
    return .done
  }
}
