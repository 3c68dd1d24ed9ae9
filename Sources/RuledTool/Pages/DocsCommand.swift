internal import Glibc
package import RuledCore
internal import RuledEngine
internal import RuledLua

/// `rulectl docs`: a page on each plugin, made from what it declares and from examples that are run.
package enum DocsCommand: Command {
  package static let spec = CommandSpec(
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

  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let selection = try RulesSelection(arguments.operand(0) ?? "rules")
    let worker = LuaWorker()
    let catalog: Catalog
    do throws(ReloadError) { catalog = try selection.load(worker: worker) } catch {
      throw ToolError(error.errors.map { "\($0.file):\($0.line): \($0.message)" }.joined(separator: "\n"))
    }
    for plugin in catalog.plugins where selection.contains(plugin.name) {
      var examples = PluginExamples(plugin.name)
      if let folder = arguments.value("examples") {
        try examples.run("\(folder)/\(plugin.name).ndjson", catalog, worker, environment)
      }
      let page = PluginPage(plugin.manifest, examples).text
      guard let output = arguments.value("output") else {
        environment.output.write(page)
        continue
      }
      try WholeFile.write(Array(page.utf8), to: "\(output)/\(plugin.name).md")
    }
    return .done
  }
}

/// What a plugin did with example events: the first example of each thing.
struct PluginExamples {
  /// An event and what the plugin decided.
  struct Event {
    /// The event as it was sent.
    let event: JSONValue
    let decisions: JSONValue
  }

  struct Effect {
    let sink: String
    let type: String
    let data: JSONValue
  }

  /// By event type, the first event on which the plugin decided something else than an error, or the next best.
  private(set) var events: [String: Event] = [:]
  private(set) var decisions: [String: JSONValue] = [:]
  /// Effects, in the order of their first occurrence.
  private(set) var effects: [Effect] = []
  /// Answers of queries by name.
  private(set) var answers: [String: JSONValue] = [:]

  private let plugin: String

  /// No examples of a plugin yet.
  init(_ plugin: String) { self.plugin = plugin }

  /// Evaluates the events of a file in memory, each at its time; a file that does not exist has none.
  mutating func run(
    _ path: String, _ catalog: Catalog, _ worker: LuaWorker, _ environment: ToolEnvironment
  ) throws {
    guard access(path, F_OK) == 0 else { return }
    let engine = try LocalEngine(catalog: catalog, lua: worker)
    let input = try environment.open(path)
    var subjects: [String] = []
    while let line = try input.nextLine() {
      guard let event = line.withView({ try? JSONValue(parsing: $0) }), event.objectValue != nil else {
        continue
      }
      if let time = event["time"]?.stringValue.flatMap({ Timestamp(rfc3339: $0) }) { try engine.set(time) }
      if let subject = event["subject"]?.stringValue, !subjects.contains(subject) { subjects.append(subject) }
      note(event, try engine.event(event))
    }
    guard let manifest = catalog.plugins.first(where: { $0.name == plugin })?.manifest else { return }
    for query in manifest.queries {
      for subject in subjects.map(Optional.some) + [nil] {
        let answer = try? engine.query("\(plugin).\(query.name)", subject: subject, arguments: nil)
        guard let answer, !answer.isNull else { continue }
        let isLonger = answer.text.utf8.count > answers[query.name]?.text.utf8.count ?? 0
        if isLonger { answers[query.name] = answer }
      }
    }
  }

  /// How good an example decisions are: some are better than none, and than an error.
  private static func rank(_ decisions: JSONValue) -> Int {
    decisions["error"] == nil ? (decisions.objectValue?.isEmpty ?? true ? 0 : 2) : 1
  }

  private mutating func note(_ event: JSONValue, _ outcome: JSONValue) {
    let type = event["type"]?.stringValue ?? ""
    let decided = outcome["decisions"]?[plugin] ?? [:]
    let rank = Self.rank(decided)
    if events[type].map({ Self.rank($0.decisions) < rank }) ?? true {
      events[type] = Event(event: event, decisions: decided)
    }
    for (key, value) in decided.objectValue ?? [:] where decisions[key] == nil { decisions[key] = value }
    for effect in outcome["effects"]?.arrayValue ?? [] where effect["plugin"]?.stringValue == plugin {
      let sink = effect["sink"]?.stringValue ?? "", type = effect["type"]?.stringValue ?? ""
      guard !effects.contains(where: { $0.sink == sink && $0.type == type }) else { continue }
      effects.append(Effect(sink: sink, type: type, data: effect["data"] ?? [:]))
    }
  }
}

/// The page on a plugin, in Markdown.
struct PluginPage {
  private let manifest: PluginManifest
  private let examples: PluginExamples

  /// The page on what a plugin declares, with what it did with examples.
  init(_ manifest: PluginManifest, _ examples: PluginExamples) {
    self.manifest = manifest
    self.examples = examples
  }

  var text: String {
    let head = "# \(manifest.name)\n\n\(manifest.about) Version \(manifest.version).\n\n"
    let note = "This page is made by `rulectl docs` from what the plugin declares and from examples that were run.\n"
    return head + note + events + decisions + effects + queries + sites + settings
  }

  // MARK: Events

  private var events: String {
    var types = manifest.events.map(\.type)
    for pattern in manifest.rules.flatMap(\.on) where !types.contains(pattern.text) { types.append(pattern.text) }
    guard !types.isEmpty else { return "" }
    return "\n## Events\n" + types.map(event).joined()
  }

  private func event(_ type: String) -> String {
    let declaration = manifest.events.first { $0.type == type }
    var text = "\n### `\(type)`\n\n"
    if let about = declaration?.about, !about.isEmpty { text += about + " " }
    let rules = manifest.order.map { manifest.rules[$0] }.filter { rule in
      rule.on.contains { $0.text == type || $0.matches(type) }
    }
    text += rules.isEmpty ? "No rule listens to it.\n" : "Rules: \(rules.map(\.name).joined(separator: ", ")).\n"
    if let declaration, !declaration.data.members.isEmpty { text += "\n" + table(of: declaration.data) }
    if declaration?.isChecked == true { text += "\nIts data is checked.\n" }
    guard let example = examples.events[type] else { return text }
    let data = example.event["data"].map { ", data `\(Self.brief($0))`" } ?? ""
    text += "\nExample: subject `\(example.event["subject"]?.stringValue ?? "")`\(data)"
    let isSilent = example.decisions.objectValue?.isEmpty ?? true
    return text + (isSilent ? "; it decides nothing.\n" : "; it decides `\(Self.brief(example.decisions))`.\n")
  }

  private func table(of schema: DataSchema) -> String {
    var text = "| member | type | |\n| --- | --- | --- |\n"
    for (name, member) in Self.rows(schema, under: "") {
      text += "| `\(name)` | \(member.typeText) | \(Self.cell(member.about)) |\n"
    }
    return text
  }

  /// The members and those within them, by their paths.
  private static func rows(_ schema: DataSchema, under path: String) -> [(String, DataSchema.Member)] {
    schema.members.flatMap { member -> [(String, DataSchema.Member)] in
      guard case .members(let inner) = member.type else { return [(path + member.name, member)] }
      return [(path + member.name, member)] + rows(inner, under: "\(path)\(member.name).")
    }
  }

  // MARK: What it does

  private var decisions: String {
    guard !examples.decisions.isEmpty else { return "" }
    let rows = examples.decisions.sorted { $0.key < $1.key }.map { key, value in
      "| `\(key)` | `\(Self.cell(Self.brief(value)))` |\n"
    }
    return "\n## Decisions\n\n| key | example |\n| --- | --- |\n" + rows.joined()
  }

  private var effects: String {
    guard !manifest.sinks.isEmpty else { return "" }
    var text = "\n## Effects\n\nSinks: \(manifest.sinks.map { "`\($0)`" }.joined(separator: ", ")).\n"
    guard !examples.effects.isEmpty else { return text }
    text += "\n| sink | type | example |\n| --- | --- | --- |\n"
    for effect in examples.effects {
      text += "| `\(effect.sink)` | `\(effect.type)` | `\(Self.cell(Self.brief(effect.data)))` |\n"
    }
    return text
  }

  private var queries: String {
    guard !manifest.queries.isEmpty else { return "" }
    var text = "\n## Queries\n"
    for query in manifest.queries {
      text += "\n### `\(manifest.name).\(query.name)`\n"
      if !query.about.isEmpty { text += "\n\(query.about)\n" }
      if let arguments = query.arguments, !arguments.members.isEmpty { text += "\n" + table(of: arguments) }
      if let answer = examples.answers[query.name] { text += "\nExample: `\(Self.brief(answer))`\n" }
    }
    return text
  }

  private var sites: String {
    guard !manifest.hosts.isEmpty else { return "" }
    return "\n## Sites\n\nIt answers for \(manifest.hosts.map { "`\($0.name)`" }.joined(separator: ", ")).\n"
  }

  private var settings: String {
    guard !manifest.settings.isEmpty else { return "" }
    var text = "\n## Settings\n\n| setting | default |\n| --- | --- |\n"
    for (name, value) in manifest.settings.sorted(by: { $0.name < $1.name }) {
      text += "| `\(name)` | `\(Self.cell(Self.brief(value)))` |\n"
    }
    return text
  }

  // MARK: Text

  private static let listed = 3
  private static let characters = 60

  /// A value as JSON, with its lists and texts cut.
  private static func brief(_ value: JSONValue) -> String { cut(value).text }

  private static func cut(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text) where text.count > characters: return .string(text.prefix(characters) + "…")
    case .array(let all): return .array(all.prefix(listed).map(cut) + (all.count > listed ? ["…"] : []))
    case .object(let object):
      let members = object.sorted { $0.name < $1.name }
      return .object(JSONObject(members.map { ($0.name, cut($0.value)) }))
    default: return value
    }
  }

  /// Text for a cell of a table.
  private static func cell(_ text: String) -> String {
    text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
  }
}
