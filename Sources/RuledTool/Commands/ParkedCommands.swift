package import RuledCore
internal import RuledReports

/// `rulectl parked`: events that a plugin failed on.
package enum ParkedCommand: Command {
  package static let spec = CommandSpec(
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

  /// Asks for the parked events and prints them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    guard ["kind", "message", "group"].contains(where: { arguments.has($0) }) else {
      try PagedList.show("parked", PagedList.params(["plugin"], arguments), arguments, environment) {
        text($0, environment.style)
      }
      return .done
    }
    if arguments.has("after") { throw UsageError("--after continues a list of all; leave it out, and give --limit") }
    if let kind = arguments.value("kind"), Failure.Kind(rawValue: kind) == nil {
      let known = Failure.Kind.allCases.map(\.rawValue)
      throw UsageError(
        "there are no failures of the kind '\(kind)'\(NearestName.hint(kind, in: known, otherwise: "kinds are \(known.joined(separator: ", "))"))"
      )
    }
    let limit =
      arguments.has("all") ? Int.max : try arguments.integer("limit", in: 1...Limits.listMaximum) ?? Limits.listDefault
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

  /// All parked events of a plugin or of all, whose failure is as the options say.
  private static func selected(_ arguments: Arguments, _ client: Client) throws -> [JSONValue] {
    var params = JSONObject()
    params["plugin"] = arguments.value("plugin").map(JSONValue.string)
    let text = arguments.value("message")?.lowercased()
    return try PagedList.all("parked", params, client).filter { item in
      let failure = item.member("failure") ?? .null
      if let kind = arguments.value("kind"), failure.member("kind")?.stringValue != kind { return false }
      guard let text else { return true }
      return failure.member("message")?.stringValue?.lowercased().contains(text) ?? false
    }
  }

  private static func text(_ parked: [JSONValue], _ style: Style) -> String {
    if parked.isEmpty { return "nothing is parked\n" }
    var table = Table([
      "ID": .left, "PLUGIN": .left, "SUBJECT": .left, "EVENT": .left, "AT": .left, "TRIES": .right, "FAILURE": .left,
    ])
    for item in parked {
      table.add([
        item.member("id")?.brief ?? "?", item.member("plugin")?.brief ?? "?", item.member("subject")?.brief ?? "?",
        events(item.member("events")), item.member("at")?.brief ?? "-", item.member("tries")?.brief ?? "-",
        item.member("failure").map(failure) ?? "-",
      ])
    }
    return table.text(style)
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

/// `rulectl retry`: tries parked events again.
package enum RetryCommand: Command {
  package static let spec = ParkedSelection.spec(
    "retry", "Tries parked events again.",
    details: "What fails again stays parked, and the exit code is 1.",
    example: .init("rulectl retry --plugin attribution", "after its rules were repaired"))

  /// Retries them and prints how many succeeded, and each failure.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("retry", ParkedSelection.params(arguments))
    environment.show(result, arguments) { text($0, environment.style) }
    return result.count("failed") > 0 ? .no : .done
  }

  private static func text(_ result: JSONValue, _ style: Style) -> String {
    let retried = result.count("retried")
    if retried == 0 { return "nothing is parked\n" }
    let (succeeded, failed) = (Figures.count(result.count("succeeded")), Figures.count(result.count("failed")))
    var text = "\(Figures.count(retried)) retried: \(succeeded) succeeded, \(failed) failed\n"
    for item in result.elements("results") {
      guard let failure = item.member("failure") else { continue }
      let id = (item.member("id")?.brief ?? "?").printable
      text += "  \(id)  \(style.red(ReportedFailure(failure).line.printable))\n"
    }
    return text
  }
}

/// `rulectl drop`: discards parked events.
package enum DropCommand: Command {
  package static let spec = ParkedSelection.spec(
    "drop", "Discards parked events: the plugin will never see them.",
    options: [
      OptionSpec("to", value: "FILE", "Appends what is dropped to a file, a line of JSON each.", completes: .files),
      OptionSpec("yes", "Drops without asking."),
    ],
    details: "On a terminal it asks first. With --to, the file is on the disk before anything is dropped.",
    example: .init("rulectl drop --plugin old --to dropped.ndjson", "all that is parked for a plugin that was removed"))

  /// Discards them and prints how many they were.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let params = try ParkedSelection.params(arguments)
    let client = try environment.connect()
    let what = arguments.value("plugin").map { "all that is parked for the plugin '\($0)'" } ?? "this event"
    guard try environment.confirms("drop \(what)? The plugin will never see it.", arguments) else {
      environment.errors.write("nothing was dropped\n")
      return .no
    }
    let result =
      try arguments.value("to").map { try drop(params, copyingTo: $0, client) } ?? client.call("drop", params)
    environment.show(result, arguments) { result in
      let dropped = result.count("dropped")
      return dropped == 0 ? "nothing is parked\n" : "\(Figures.count(dropped)) dropped\n"
    }
    return .done
  }

  /// Writes the events to a file, and drops those and no others: more may be parked meanwhile.
  private static func drop(_ params: JSONValue, copyingTo path: String, _ client: Client) throws -> JSONValue {
    var selection = JSONObject()
    selection["plugin"] = params.member("plugin")
    let wanted = params.member("parked")
    let found = try PagedList.all("parked", selection, client).filter { wanted == nil || $0.member("id") == wanted }
    guard !found.isEmpty else { return try client.call("drop", params) }
    try AppendedFile(path).append(found)
    var dropped: Int64 = 0
    for item in found {
      // Somebody else may have retried or dropped it meanwhile.
      do {
        dropped += try client.call("drop", ["parked": item.member("id") ?? .null]).member("dropped")?.intValue ?? 0
      } catch let error as DaemonError where error.code == "not_found" {}
    }
    return ["dropped": .integer(dropped)]
  }
}

/// Parked events that failed at the same place in the same way.
private struct FailureGroup {
  /// The failure of the first event.
  let failure: ReportedFailure
  let plugin: String
  /// The failure as the daemon sent it.
  let example: JSONValue
  /// How many events it has.
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
      let plugin = item.member("plugin")?.brief ?? "?"
      let message = example.member("message")?.brief ?? ""
      let parts = [plugin] + ["rule", "kind", "file", "line"].map { example.member($0)?.brief ?? "" }
      let key = (parts + [withoutNumbers(message)]).joined(separator: "\u{0}")
      let at = item.member("at")?.brief ?? "-"
      var group =
        groups[key] ?? FailureGroup(failure: ReportedFailure(example), plugin: plugin, example: example, oldest: at)
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

  /// The groups as a table.
  static func text(_ groups: ArraySlice<FailureGroup>, _ style: Style) -> String {
    if groups.isEmpty { return "nothing is parked\n" }
    var table = Table(["EVENTS": .right, "PLUGIN": .left, "RULE": .left, "OLDEST": .left, "FAILURE": .left])
    for group in groups {
      table.add([
        Figures.count(group.count), group.plugin, group.failure.rule.isEmpty ? "-" : group.failure.rule, group.oldest,
        group.failure.messageAndKind,
      ])
    }
    return table.text(style)
  }
}

/// The parked events that a command is for: one, by its id, or all of a plugin.
private enum ParkedSelection {
  /// The command line of a command that takes such a selection.
  static func spec(
    _ name: String, _ about: String, options: [OptionSpec] = [], details: String, example: CommandSpec.Example
  ) -> CommandSpec {
    let plugin = OptionSpec("plugin", short: "p", value: "PLUGIN", "All that is parked for this plugin.")
    return CommandSpec(
      name, about, synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: [plugin] + options + [.json],
      details: details,
      examples: [example])
  }

  static func params(_ arguments: Arguments) throws(UsageError) -> JSONValue {
    switch (arguments.operand(0), arguments.value("plugin")) {
    case (let id?, nil): return ["parked": .string(id)]
    case (nil, let plugin?): return ["plugin": .string(plugin)]
    case (nil, nil): throw UsageError("say which: an ID that 'rulectl parked' lists, or --plugin PLUGIN")
    case (_?, _?): throw UsageError("give an ID or --plugin, not both")
    }
  }
}
