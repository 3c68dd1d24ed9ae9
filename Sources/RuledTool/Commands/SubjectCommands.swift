package import RuledCore

/// `rulectl query`: asks a plugin's query.
package enum QueryCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "query", "Asks a plugin's query.",
    synopsis: ["PLUGIN.QUERY [SUBJECT] [key=value …]"], required: ["PLUGIN.QUERY"], optional: CommandSpec.any,
    options: [
      OptionSpec("subject", value: "SUBJECT", "The subject, if it contains '='."),
      OptionSpec("args", value: "JSON", "The query's arguments; key=value sets members of them."),
      OptionSpec("json", "Prints the answer on one line."),
    ],
    details: "'rulectl rules PLUGIN' lists a plugin's queries.",
    examples: [
      .init("rulectl query gamification.profile user:7", "a query on a subject"),
      .init("rulectl query analytics.kpis from=2025-11-01 to=2025-11-07", "one that takes no subject"),
    ])

  /// Asks and prints the answer.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var words = arguments.operands.dropFirst()
    var subject = arguments.value("subject")
    if subject == nil, let first = words.first, KeyValue(first) == nil { subject = words.removeFirst() }
    let params = JSONValue.members([
      "subject": subject.map(JSONValue.string), "name": .string(arguments.operands[0]),
      "args": try KeyValue.value(of: "args", in: arguments, with: words),
    ])
    let answer = try environment.connect().call("query", params)
    environment.output.write((arguments.has("json") ? answer.text : answer.prettyText()) + "\n")
    return .done
  }
}

/// `rulectl state`: the plugins' states of a subject.
package enum StateCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "state", "Shows the plugins' states of a subject.",
    synopsis: ["SUBJECT [--plugin PLUGIN]"], required: ["SUBJECT"],
    options: [OptionSpec("plugin", short: "p", value: "PLUGIN", "Shows only this plugin's state."), .json],
    examples: [
      .init("rulectl state device:9f2c", "all plugins"),
      .init("rulectl state device:9f2c --plugin attribution --json", "one, for a script"),
    ])

  /// Asks for the state and prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let plugin = arguments.value("plugin")
    let result = try environment.connect().call(
      "state", .members(["subject": .string(subject), "plugin": plugin.map(JSONValue.string)]))
    environment.show(result, arguments) { result in
      let style = environment.style
      let version = result.member("version")?.brief ?? "?"
      let plugins = result.member("plugins")?.objectValue?.members ?? []
      var text = "\(style.bold(subject.printable))  version \(version)\n"
      if plugins.isEmpty { text += "no plugin has state for it\n" }
      for (name, state) in plugins { text += "\n\(style.cyan(name.printable))\n\(state.prettyText())\n" }
      return text
    }
    return .done
  }
}

/// `rulectl subjects`: the subjects of which something is stored.
package enum SubjectsCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "subjects", "Lists the subjects of which something is stored, one a line.",
    synopsis: ["[--prefix PREFIX] [--limit N] [--after NEXT] [--all]"],
    options: [OptionSpec("prefix", value: "PREFIX", "Lists only subjects that begin with PREFIX.")] + PagedList.options
      + [.json],
    examples: [
      .init("rulectl subjects --prefix user: --all | wc -l", "the number of users"),
      .init("rulectl subjects --limit 10 --json", "ten, and where the next page begins"),
    ])

  /// Asks for the subjects and prints them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    try PagedList.show("subjects", PagedList.params(["prefix"], arguments), arguments, environment) { subjects in
      if subjects.isEmpty { environment.errors.write("no subjects\n") }
      return subjects.reduce(into: "") { $0 += $1.brief.printable + "\n" }
    }
    return .done
  }
}

/// `rulectl export`: everything that is stored of a subject.
package enum ExportCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "export", "Prints everything that is stored of a subject, as JSON.",
    synopsis: ["SUBJECT"], required: ["SUBJECT"], options: [OptionSpec("json", "Prints it on one line.")],
    details: "That is its state, timers, effects, parked and recorded events: what a person may ask for by law.",
    examples: [.init("rulectl export user:7 > user-7.json", "a copy to hand out")])

  /// Asks for it and prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let result = try environment.connect().call("export", ["subject": .string(subject)])
    environment.output.write((arguments.has("json") ? result.text : result.prettyText()) + "\n")
    return .done
  }
}

/// `rulectl forget`: erases everything that is stored of a subject.
package enum ForgetCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "forget", "Erases everything that is stored of a subject.",
    synopsis: ["SUBJECT"], required: ["SUBJECT"], options: [.json],
    details: "This cannot be undone; 'rulectl export SUBJECT' makes a copy first.",
    examples: [.init("rulectl forget user:7", "erases it, and prints how much it was")])

  /// Erases it and prints how much it was.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let result = try environment.connect().call("forget", ["subject": .string(subject)])
    environment.show(result, arguments) { result in
      let counts = (result.member("forgotten")?.objectValue?.members ?? []).filter { $0.value.intValue != 0 }
      if counts.isEmpty { return "nothing was stored of \(subject.printable)\n" }
      let texts = counts.map { "\($0.name.printable) \(Figures.count(Int($0.value.intValue ?? 0)))" }
      return "forgot \(subject.printable): \(texts.joined(separator: ", "))\n"
    }
    return .done
  }
}
