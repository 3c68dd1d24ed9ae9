internal import RuledCore
internal import RuledLua

/// The page on a plugin, in Markdown.
struct PluginPage {
  let manifest: PluginManifest
  let examples: PluginExamples

  var text: String {
    let head =
      "# \(Self.plain(manifest.name))\n\n\(Self.plain(manifest.about)) Version \(Self.plain(manifest.version)).\n\n"
    let note = "This page is made by `rulectl docs` from what the plugin declares and from examples that were run.\n"
    return head + note + events + decisions + effects + queries + state + sites + settings
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
    var text = "\n### \(Self.code(type))\n\n"
    if let about = declaration?.about, !about.isEmpty { text += Self.plain(about) + " " }
    let rules = manifest.order.map { manifest.rules[$0] }.filter { rule in
      rule.on.contains { $0.text == type || $0.matches(type) }
    }
    text +=
      rules.isEmpty
      ? "No rule listens to it.\n" : "Rules: \(rules.map { Self.plain($0.name) }.joined(separator: ", ")).\n"
    if let declaration, !declaration.data.members.isEmpty { text += "\n" + table(of: declaration.data) }
    if declaration?.isInternal == true { text += "\nOnly rules make it: a client's is refused.\n" }
    if let declaration, declaration.isChecked {
      let refusal = declaration.isClosed ? ", and members that nobody declares are refused" : ""
      text += "\nIts data is checked\(refusal).\n"
    }
    guard let example = examples.events[type] else { return text }
    let data = example.event["data"].map { ", data \(Self.code(Self.brief($0)))" } ?? ""
    text += "\nExample: subject \(Self.code(example.event["subject"]?.stringValue ?? ""))\(data)"
    let isSilent = example.decisions.objectValue?.isEmpty ?? true
    return text + (isSilent ? "; it decides nothing.\n" : "; it decides \(Self.code(Self.brief(example.decisions))).\n")
  }

  private func table(of schema: DataSchema) -> String {
    var text = "| member | type | |\n| --- | --- | --- |\n"
    for (name, member) in Self.rows(schema, under: "") {
      text += "| \(Self.cell(Self.code(name))) | \(member.typeText) | \(Self.cell(Self.plain(member.about))) |\n"
    }
    return text
  }

  /// The members and those within them, by their paths.
  private static func rows(_ schema: DataSchema, under path: String) -> [(String, DataSchema.Member)] {
    schema.members.flatMap { member in
      [(path + member.name, member)] + rows(within: member.type, under: path + member.name)
    }
  }

  private static func rows(within type: DataType, under path: String) -> [(String, DataSchema.Member)] {
    switch type {
    case .members(let inner): rows(inner, under: "\(path).")
    case .array(let element?): rows(within: element, under: "\(path)[]")
    default: []
    }
  }

  // MARK: What it does

  private var decisions: String {
    guard !examples.decisions.isEmpty else { return "" }
    let rows = examples.decisions.sorted { $0.key < $1.key }.map { key, value in
      "| \(Self.cell(Self.code(key))) | \(Self.cell(Self.code(Self.brief(value)))) |\n"
    }
    return "\n## Decisions\n\n| key | example |\n| --- | --- |\n" + rows.joined()
  }

  private var effects: String {
    guard !manifest.sinks.isEmpty else { return "" }
    let anonymous = Set(manifest.anonymousSinks.map(\.name))
    let names = manifest.sinks.map { Self.code($0) + (anonymous.contains($0) ? " (without subject)" : "") }
    var text = "\n## Effects\n\nSinks: \(names.joined(separator: ", ")).\n"
    guard !examples.effects.isEmpty else { return text }
    text += "\n| sink | type | example |\n| --- | --- | --- |\n"
    for effect in examples.effects {
      text +=
        [effect.sink, effect.type, Self.brief(effect.data)].map { "| \(Self.cell(Self.code($0))) " }.joined() + "|\n"
    }
    return text
  }

  private var queries: String {
    guard !manifest.queries.isEmpty else { return "" }
    var text = "\n## Queries\n"
    for query in manifest.queries {
      text += "\n### \(Self.code("\(manifest.name).\(query.name)"))\n"
      if !query.about.isEmpty { text += "\n\(Self.plain(query.about))\n" }
      if let arguments = query.arguments, !arguments.members.isEmpty { text += "\n" + table(of: arguments) }
      if let answer = examples.answers[query.name] { text += "\nExample: \(Self.code(Self.brief(answer)))\n" }
    }
    return text
  }

  private var state: String {
    guard let shape = manifest.state else { return "" }
    return "\n## State\n\nVersion \(shape.version)" + (shape.isClosed ? ", with these members alone" : "") + ".\n\n"
      + table(of: shape.members)
  }

  private var sites: String {
    guard !manifest.hosts.isEmpty else { return "" }
    return "\n## Sites\n\nIt answers for \(manifest.hosts.map { Self.code($0.name) }.joined(separator: ", ")).\n"
  }

  private var settings: String {
    guard !manifest.settings.isEmpty else { return "" }
    var text = "\n## Settings\n\n| setting | type | default | |\n| --- | --- | --- | --- |\n"
    var rows = manifest.declaredSettings.map { ($0.path, Optional($0)) }
    for name in manifest.settings.names where !rows.contains(where: { $0.0 == name }) { rows.append((name, nil)) }
    for (path, declared) in rows.sorted(by: { $0.0 < $1.0 }) {
      let value = path.split(separator: ".").reduce(Optional(JSONValue.object(manifest.settings))) { $0?[String($1)] }
      let about = [declared?.limits, declared?.about].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ": ")
      let cells = [
        Self.code(path), declared?.typeText ?? value?.kind ?? "", value.map { Self.code(Self.brief($0)) } ?? "",
        Self.plain(about),
      ]
      text += "| \(cells.map(Self.cell).joined(separator: " | ")) |\n"
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

  /// Text that a browser shows as it is written, whatever looks like HTML in it.
  private static func plain(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// Text as code, between more backticks than it has in a row.
  private static func code(_ text: String) -> String {
    let longest = text.split(whereSeparator: { $0 != "`" }).map(\.count).max() ?? 0
    let marks = String(repeating: "`", count: longest + 1), space = longest > 0 ? " " : ""
    return marks + space + text.replacing("\n", with: " ") + space + marks
  }

  private static func cell(_ text: String) -> String {
    text.replacing("\n", with: " ").replacing("|", with: "\\|")
  }
}

extension JSONValue {
  /// Its type, as declarations name it.
  fileprivate var kind: String? {
    switch self {
    case .null: nil
    case .bool: "boolean"
    case .integer, .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }
}
