package import RuledCore

/// `rulectl parked`: events that a plugin failed on.
package enum ParkedCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "parked", "Lists the events that a plugin failed on.",
    synopsis: ["[--plugin PLUGIN] [--limit N] [--after NEXT] [--all]"],
    options: [OptionSpec("plugin", short: "p", value: "PLUGIN", "Lists only this plugin's.")]
      + PagedList.options + [.json],
    details: "'rulectl retry' tries them again, 'rulectl drop' discards them.",
    examples: [.init("rulectl parked --plugin attribution", "one plugin's")])

  /// Asks for the parked events and prints them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var params = JSONObject()
    params["plugin"] = arguments.value("plugin").map(JSONValue.string)
    let page = try PagedList.read("parked", "parked", params, arguments, environment.connect())
    if arguments.has("json") {
      environment.print(json: page)
      return .done
    }
    let parked = page.elements("parked")
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
    PagedList.writeHint(after: page, shown: parked.count, environment)
    return .done
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
  /// Name, options and help.
  package static let spec = CommandSpec(
    "retry", "Tries parked events again.",
    synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: ParkedSelection.options + [.json],
    details: "What fails again stays parked, and the exit code is 1.",
    examples: [.init("rulectl retry --plugin attribution", "after its rules were repaired")])

  /// Retries them and prints how many succeeded, and each failure.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("retry", ParkedSelection.params(arguments))
    let failed = result.count("failed")
    if arguments.has("json") {
      environment.print(json: result)
      return failed > 0 ? .no : .done
    }
    let retried = result.count("retried")
    let succeeded = result.count("succeeded")
    environment.output.write(
      retried == 0
        ? "nothing is parked\n"
        : "\(Figures.count(retried)) retried: \(Figures.count(succeeded)) succeeded, \(Figures.count(failed)) failed\n")
    for item in result.elements("results") {
      guard let failure = item.member("failure") else { continue }
      environment.output.write(
        "  \((item.member("id")?.brief ?? "?").printable)  "
          + environment.style.red(ReportedFailure(failure).line.printable) + "\n")
    }
    return failed > 0 ? .no : .done
  }
}

/// `rulectl drop`: discards parked events.
package enum DropCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "drop", "Discards parked events: the plugin will never see them.",
    synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: ParkedSelection.options + [.json],
    details: "This cannot be undone; 'rulectl parked --json' makes a copy first.",
    examples: [.init("rulectl drop --plugin old", "all that is parked for a plugin that was removed")])

  /// Discards them and prints how many they were.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("drop", ParkedSelection.params(arguments))
    if arguments.has("json") {
      environment.print(json: result)
    } else {
      let dropped = result.count("dropped")
      environment.output.write(dropped == 0 ? "nothing is parked\n" : "\(Figures.count(dropped)) dropped\n")
    }
    return .done
  }
}

/// The parked events that a command is for: one, by its id, or all of a plugin.
private enum ParkedSelection {
  static let options = [
    OptionSpec("plugin", short: "p", value: "PLUGIN", "All that is parked for this plugin.")
  ]

  /// The method's parameters.
  static func params(_ arguments: Arguments) throws(UsageError) -> JSONValue {
    switch (arguments.operand(0), arguments.value("plugin")) {
    case (let id?, nil): return ["parked": .string(id)]
    case (nil, let plugin?): return ["plugin": .string(plugin)]
    case (nil, nil): throw UsageError("say which: an ID that 'rulectl parked' lists, or --plugin PLUGIN")
    case (_?, _?): throw UsageError("give an ID or --plugin, not both")
    }
  }
}
