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
    try PagedList.show("parked", PagedList.params(["plugin"], arguments), arguments, environment) {
      text($0, environment.style)
    }
    return .done
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
  /// Name, options and help.
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
  /// Name, options and help.
  package static let spec = ParkedSelection.spec(
    "drop", "Discards parked events: the plugin will never see them.",
    details: "This cannot be undone; 'rulectl parked --json' makes a copy first.",
    example: .init("rulectl drop --plugin old", "all that is parked for a plugin that was removed"))

  /// Discards them and prints how many they were.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("drop", ParkedSelection.params(arguments))
    environment.show(result, arguments) { result in
      let dropped = result.count("dropped")
      return dropped == 0 ? "nothing is parked\n" : "\(Figures.count(dropped)) dropped\n"
    }
    return .done
  }
}

/// The parked events that a command is for: one, by its id, or all of a plugin.
private enum ParkedSelection {
  /// The command line of a command that takes such a selection.
  static func spec(_ name: String, _ about: String, details: String, example: CommandSpec.Example) -> CommandSpec {
    let plugin = OptionSpec("plugin", short: "p", value: "PLUGIN", "All that is parked for this plugin.")
    return CommandSpec(
      name, about, synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: [plugin, .json], details: details,
      examples: [example])
  }

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
