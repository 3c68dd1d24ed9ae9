internal import RuledCore

/// `rulectl parked`: events that a plugin failed on.
package enum ParkedCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "parked", "Lists the events that a plugin failed on.",
    synopsis: ["[--plugin PLUGIN] [--limit N] [--after NEXT] [--all]"],
    options: [OptionSpec("plugin", short: "p", value: "PLUGIN", "Lists this plugin's alone.")] + Pages.options + [
      .json
    ],
    details: "'rulectl retry' tries them again, 'rulectl drop' gives them up.",
    examples: [.init("rulectl parked --plugin attribution", "one plugin's")])

  /// Lists them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var params = JSONObject()
    params["plugin"] = arguments.value("plugin").map(JSONValue.string)
    let page = try Pages.read("parked", "parked", params, arguments, environment.connect())
    if arguments.has("json") {
      environment.print(json: page)
      return .done
    }
    let parked = page.member("parked")?.arrayValue ?? []
    guard !parked.isEmpty else {
      environment.output.write("nothing is parked\n")
      return .done
    }
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
    environment.output.write(table.text(environment.style))
    Pages.hint(page, shown: parked.count, environment)
    return .done
  }

  /// The plugin has a column of its own.
  private static func failure(_ json: JSONValue) -> String {
    let failure = ReportedFailure(json)
    let rule = failure.rule.isEmpty ? "" : "rule '\(failure.rule)': "
    return "\(rule)\(failure.message.after(place: failure.place)) (\(failure.kind))"
  }

  private static func events(_ json: JSONValue?) -> String {
    guard let events = json?.arrayValue, let first = events.first else { return json?.brief ?? "-" }
    let type = (first.member("type") ?? first).brief
    return events.count > 1 ? "\(type) and \(events.count - 1) more" : type
  }
}
