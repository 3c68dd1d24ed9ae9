internal import RuledCore
internal import RuledReports

enum RulesCommand: Command {
  static let spec = CommandSpec(
    "rules", "Lists the loaded plugins, how often they ran and how fast.",
    synopsis: ["[PLUGIN]", "--events [TYPE]"], optional: 1,
    options: [OptionSpec("events", "Lists what the plugins describe of the data of events, or of one type."), .json],
    details: "With PLUGIN, lists its rules and queries.",
    examples: [
      .init("rulectl rules", "all plugins"), .init("rulectl rules --events app.launched", "the data of an event"),
      .init("rulectl rules attribution", "one plugin's rules and queries"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("rules", [:])
    let plugins = result.elements("plugins")
    if arguments.has("events") {
      let text = try text(ofEvents: arguments.operand(0), plugins, environment.style)
      return environment.show(result, arguments) { _ in text }
    }
    if let name = arguments.operand(0) {
      guard let plugin = plugins.first(where: { $0.member("name")?.stringValue == name }) else {
        let names = plugins.compactMap { $0.member("name")?.stringValue }
        throw ToolError(
          "no plugin '\(name)' is loaded" + NearestName.hint(name, in: names, otherwise: "'rulectl rules' lists them"),
          exit: .no)
      }
      return environment.show(plugin, arguments) { text(ofPlugin: $0, environment.style) }
    }
    return environment.show(result, arguments) { text(of: $0, environment.style) }
  }

  private static func text(of result: JSONValue, _ style: Style) -> String {
    let plugins = result.elements("plugins")
    let revision = result.word("revision").printable
    let loaded = result.member("loaded_at").map { ", loaded \($0.brief.printable)" } ?? ""
    var text = "revision \(style.bold(revision))\(loaded)\n\n"
    text += Table([
      "PLUGIN", "VERSION", ">RULES", ">QUERIES", ">RUNS", ">FAILURES", ">P50", ">P99",
    ]).rows(plugins) { plugin in
      [
        plugin.word("name"), plugin.word("version", else: "-"), "\(plugin.elements("rules").count)",
        "\(plugin.elements("queries").count)", Figures.count(plugin.count("runs")),
        Figures.count(plugin.count("failures")), micros(plugin, "p50_us"), micros(plugin, "p99_us"),
      ]
    }.text(style, empty: "no plugins are loaded\n")
    let errors = result.elements("errors")
    if !errors.isEmpty { text += "\n" + style.red("the rules on disk do not load") + "\n" }
    for error in errors { text += "  \(error.locatedMessage.printable)\n" }
    return text
  }

  private static func text(ofPlugin plugin: JSONValue, _ style: Style) -> String {
    let name = plugin.word("name").printable
    let version = plugin.member("version").map { " \($0.brief.printable)" } ?? ""
    let failures = Figures.count(plugin.count("failures"), "failure")
    let runs = Figures.count(plugin.count("runs"), "run")
    var text = "\(style.bold(name))\(version)  \(runs), \(failures), "
    text += "p50 \(micros(plugin, "p50_us")), p99 \(micros(plugin, "p99_us"))\n"
    for member in ["rules", "queries"] {
      text += "\n\(style.bold(member))\n"
      let items = plugin.elements(member)
      if items.isEmpty { text += "  none\n" }
      for item in items { text += "  \((item.member("name") ?? item).brief.printable)\n" }
    }
    return text
  }

  private static func micros(_ plugin: JSONValue, _ member: String) -> String {
    TopSample.Entry.measured(plugin.member(member)).map(Figures.micros) ?? "-"
  }

  /// The plugins' descriptions of events, or of one type.
  private static func text(ofEvents type: String?, _ plugins: [JSONValue], _ style: Style) throws(ToolError) -> String {
    let all = plugins.flatMap { plugin in
      plugin.elements("events").map { (plugin: plugin.word("name"), event: $0) }
    }
    let events = all.filter { type == nil || $0.event.member("type")?.stringValue == type }
    if events.isEmpty {
      guard let type else { return "no plugin describes events\n" }
      let types = all.compactMap { $0.event.member("type")?.stringValue }
      throw ToolError(
        "no plugin describes '\(type)'"
          + NearestName.hint(type, in: types, otherwise: "'rulectl rules --events' lists the types"), exit: .no)
    }
    return events.map { plugin, event in
      let type = event.word("type").printable
      var lines =
        "\(style.bold(type))  \(style.dim(plugin.printable))  \(event.word("about", else: "").printable)\n"
      if event.member("from") != nil { lines += "  \(style.dim("made by rules only"))\n" }
      for (name, value) in event.member("data")?.objectValue ?? [:] {
        lines += "  \(name.printable)  \((value.stringValue ?? value.text).printable)\n"
      }
      return lines
    }.joined()
  }
}
