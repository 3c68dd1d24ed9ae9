internal import RuledCore

/// `rulectl rules`: what is loaded and how it fares.
package enum RulesCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "rules", "Lists the plugins that are loaded, how often they ran and how fast.",
    synopsis: ["[PLUGIN]"], optional: 1, options: [.json],
    details: "With PLUGIN, lists its rules and queries.",
    examples: [
      .init("rulectl rules", "all plugins"), .init("rulectl rules attribution", "one plugin's rules and queries"),
    ])

  /// Lists them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("rules", [:])
    let plugins = result.member("plugins")?.arrayValue ?? []
    if let name = arguments.operand(0) {
      guard let plugin = plugins.first(where: { $0.member("name")?.stringValue == name }) else {
        let meant = Suggestion.nearest(to: name, among: plugins.compactMap { $0.member("name")?.stringValue })
        throw ToolError(
          "no plugin '\(name)' is loaded; " + (meant.map { "did you mean '\($0)'?" } ?? "'rulectl rules' lists them"),
          exit: .no)
      }
      if arguments.has("json") { environment.print(json: plugin) } else { show(plugin, environment) }
      return .done
    }
    if arguments.has("json") { environment.print(json: result) } else { list(plugins, result, environment) }
    return .done
  }

  private static func list(_ plugins: [JSONValue], _ result: JSONValue, _ environment: ToolEnvironment) {
    let style = environment.style
    let revision = result.member("revision")?.brief.printable ?? "?"
    let loaded = result.member("loaded_at").map { ", loaded \($0.brief.printable)" } ?? ""
    environment.output.write("revision \(style.bold(revision))\(loaded)\n\n")
    if plugins.isEmpty {
      environment.output.write("no plugins are loaded\n")
    } else {
      var table = Table([
        "PLUGIN": .left, "VERSION": .left, "RULES": .right, "QUERIES": .right, "RUNS": .right, "FAILURES": .right,
        "P50": .right, "P99": .right,
      ])
      for plugin in plugins {
        table.add([
          plugin.member("name")?.brief ?? "?", plugin.member("version")?.brief ?? "-",
          "\(plugin.member("rules")?.arrayValue?.count ?? 0)", "\(plugin.member("queries")?.arrayValue?.count ?? 0)",
          Figures.count(Int(plugin.member("runs")?.intValue ?? 0)),
          Figures.count(Int(plugin.member("failures")?.intValue ?? 0)), micros(plugin, "p50_us"),
          micros(plugin, "p99_us"),
        ])
      }
      environment.output.write(table.text(style))
    }
    let errors = result.member("errors")?.arrayValue ?? []
    if !errors.isEmpty { environment.output.write("\n" + style.red("what is on disk does not load") + "\n") }
    for error in errors { environment.output.write("  \(LoadError(error).line.printable)\n") }
  }

  private static func show(_ plugin: JSONValue, _ environment: ToolEnvironment) {
    let style = environment.style
    let name = plugin.member("name")?.brief.printable ?? "?"
    let version = plugin.member("version").map { " \($0.brief.printable)" } ?? ""
    let failures = Figures.count(Int(plugin.member("failures")?.intValue ?? 0), "failure")
    let runs = Figures.count(Int(plugin.member("runs")?.intValue ?? 0), "run")
    var text = "\(style.bold(name))\(version)  \(runs), \(failures), "
    text += "p50 \(micros(plugin, "p50_us")), p99 \(micros(plugin, "p99_us"))\n"
    for (heading, member) in [("rules", "rules"), ("queries", "queries")] {
      text += "\n\(style.bold(heading))\n"
      let items = plugin.member(member)?.arrayValue ?? []
      if items.isEmpty { text += "  none\n" }
      for item in items { text += "  \((item.member("name") ?? item).brief.printable)\n" }
    }
    environment.output.write(text)
  }

  private static func micros(_ plugin: JSONValue, _ member: String) -> String {
    plugin.member(member)?.doubleValue.map(Figures.micros) ?? "-"
  }
}
