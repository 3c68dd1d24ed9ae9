internal import RuledCore
internal import RuledReports

enum ParkedCommand: Command {
  static let spec = CommandSpec(
    "parked", "Lists the events that a plugin failed on.",
    synopsis: ["[--plugin PLUGIN] [--kind KIND] [--message TEXT] [--group] [--limit N] [--after NEXT] [--all]"],
    options: [
      OptionSpec("plugin", short: "p", value: "PLUGIN", "Lists only this plugin's."),
      OptionSpec(
        "kind", value: "KIND", "Lists only failures of this kind.",
        completes: .words(Failure.Kind.allCases.map(\.rawValue))),
      OptionSpec("message", value: "TEXT", "Lists only failures whose message has this text."),
      OptionSpec("group", short: "g", "Lists the failures and how many events each has."),
    ] + PagedList.options + [.json],
    details: "'rulectl retry' tries them again, 'rulectl drop' discards them.",
    examples: [
      .init("rulectl parked --group", "what fails, and how often"),
      .init("rulectl parked --plugin attribution --kind time", "one plugin's that took too long"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    guard ["kind", "message", "group"].contains(where: { arguments.has($0) }) else {
      return try PagedList.show("parked", PagedList.params(["plugin"], arguments), arguments, environment) {
        text($0, environment.style)
      }
    }
    if arguments.has("after") { throw UsageError("--after continues a list of all; leave it out, and give --limit") }
    if let kind = arguments.value("kind"), Failure.Kind(rawValue: kind) == nil {
      let known = Failure.Kind.allCases.map(\.rawValue)
      throw UsageError(
        "there are no failures of the kind '\(kind)'\(NearestName.hint(kind, in: known, otherwise: "kinds are \(known.joined(separator: ", "))"))"
      )
    }
    let limit = try PagedList.limit(arguments) ?? Int.max
    let found = try selected(arguments, environment.connect())
    if arguments.has("group") {
      let groups = FailureGroup.groups(of: found)
      environment.show(["groups": .array(groups.prefix(limit).map(\.json))], arguments) { _ in
        FailureGroup.text(groups.prefix(limit), environment.style)
      }
    } else {
      let shown = Array(found.prefix(limit))
      environment.show(["parked": .array(shown)], arguments) { _ in text(shown, environment.style) }
      if found.count > limit, !arguments.has("json") {
        environment.errors.write(
          "\(Figures.count(limit)) shown of \(Figures.count(found.count)): list them with --all\n")
      }
    }
    return .done
  }

  /// All parked events of a plugin or of all whose failure matches the options.
  private static func selected(_ arguments: Arguments, _ client: Client) throws -> [JSONValue] {
    let params = PagedList.params(["plugin"], arguments)
    let text = arguments.value("message")?.lowercased()
    return try PagedList.all("parked", params, client).filter { item in
      let failure = item.member("failure") ?? .null
      if let kind = arguments.value("kind"), failure.member("kind")?.stringValue != kind { return false }
      guard let text else { return true }
      return failure.member("message")?.stringValue?.lowercased().contains(text) ?? false
    }
  }

  private static func text(_ parked: [JSONValue], _ style: Style) -> String {
    Table(["ID", "PLUGIN", "SUBJECT", "EVENT", "AT", ">TRIES", "FAILURE"]).rows(parked) { item in
      [
        item.word("id"), item.word("plugin"), item.word("subject"),
        events(item.member("events")), item.word("at", else: "-"), item.word("tries", else: "-"),
        item.member("failure").map(failure) ?? "-",
      ]
    }.text(style, empty: "nothing is parked\n")
  }

  /// A failure without its plugin, which has a column of its own.
  private static func failure(_ json: JSONValue) -> String {
    let failure = ReportedFailure(json)
    let rule = failure.rule.isEmpty ? "" : "rule '\(failure.rule)': "
    return rule + failure.messageAndKind
  }

  private static func events(_ json: JSONValue?) -> String {
    guard let events = json?.arrayValue, let first = events.first else { return json?.brief ?? "-" }
    let type = (first.member("type") ?? first).brief
    return events.count > 1 ? "\(type) and \(events.count - 1) more" : type
  }
}

/// Parked events that failed at the same place in the same way.
private struct FailureGroup {
  let plugin: String
  /// The failure of the first event, as the daemon sent it.
  let example: JSONValue
  var count = 0
  /// When the first of them was parked.
  var oldest: String

  /// The groups of parked events, the largest first.
  ///
  /// Numbers in a message, as in an id, make no group of its own.
  static func groups(of parked: [JSONValue]) -> [FailureGroup] {
    var groups: [String: FailureGroup] = [:]
    for item in parked {
      let example = item.member("failure") ?? .null
      let plugin = item.word("plugin")
      let message = example.word("message", else: "")
      let parts = [plugin] + ["rule", "kind", "file", "line"].map { example.member($0)?.brief ?? "" }
      let key = (parts + [withoutNumbers(message)]).joined(separator: "\u{0}")
      let at = item.word("at", else: "-")
      var group = groups[key] ?? FailureGroup(plugin: plugin, example: example, oldest: at)
      group.count += 1
      group.oldest = min(group.oldest, at)
      groups[key] = group
    }
    return groups.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map(\.value)
  }

  private static func withoutNumbers(_ text: String) -> String {
    text.split { $0.isNumber }.joined(separator: "#")
  }

  var json: JSONValue {
    ["events": .integer(Int64(count)), "plugin": .string(plugin), "oldest": .string(oldest), "failure": example]
  }

  static func text(_ groups: ArraySlice<FailureGroup>, _ style: Style) -> String {
    let columns = Table([">EVENTS", "PLUGIN", "RULE", "OLDEST", "FAILURE"])
    return columns.rows(groups) { group in
      let failure = ReportedFailure(group.example)
      let rule = failure.rule.isEmpty ? "-" : failure.rule
      return [Figures.count(group.count), group.plugin, rule, group.oldest, failure.messageAndKind]
    }.text(style, empty: "nothing is parked\n")
  }
}
