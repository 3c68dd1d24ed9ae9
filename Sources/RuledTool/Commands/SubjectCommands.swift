package import RuledCore
internal import RuledReports

/// `rulectl query`: asks a plugin's query.
package enum QueryCommand: Command {
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
  package static let spec = CommandSpec(
    "state", "Shows the plugins' states of a subject, now or in the past.",
    synopsis: ["SUBJECT [--plugin PLUGIN] [--at TIME | --version N]"], required: ["SUBJECT"],
    options: [
      OptionSpec("plugin", short: "p", value: "PLUGIN", "Shows only this plugin's state."),
      OptionSpec("at", value: "TIME", "The states at that time: RFC 3339, or how long ago, such as 2h."),
      OptionSpec("version", value: "N", "The states after the event that made version N."), .json,
    ],
    details: "A state of the past is made from the journal, with the rules of then.",
    examples: [
      .init("rulectl state device:9f2c", "all plugins"),
      .init("rulectl state device:9f2c --plugin attribution --json", "one, for a script"),
      .init("rulectl state device:9f2c --at 2h", "as it was two hours ago"),
    ])

  /// Asks for the state and prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let plugin = arguments.value("plugin")
    let version = try arguments.integer("version", in: 1...Int.max)
    if version != nil, arguments.has("at") { throw UsageError("give --at or --version, not both") }
    let result = try environment.connect().call(
      "state",
      .members([
        "subject": .string(subject), "plugin": plugin.map(JSONValue.string),
        "at": arguments.value("at").map(JSONValue.string), "version": version.map { .integer(Int64($0)) },
      ]))
    environment.show(result, arguments) { result in
      let style = environment.style
      let version = result.member("version")?.brief ?? "?"
      let plugins = result.member("plugins")?.objectValue?.members ?? []
      let revision = result.member("revision")?.brief ?? "?"
      let past = result.member("at").map { "  at \($0.brief)  revision \(revision)" } ?? ""
      var text = "\(style.bold(subject.printable))  version \(version)\(past)\n"
      if plugins.isEmpty { text += "no plugin has state for it\n" }
      for (name, state) in plugins { text += "\n\(style.cyan(name.printable))\n\(state.prettyText())\n" }
      return text
    }
    return .done
  }
}

/// `rulectl subjects`: the subjects of which something is stored.
package enum SubjectsCommand: Command {
  package static let spec = CommandSpec(
    "subjects", "Lists the subjects of which something is stored, one a line.",
    synopsis: ["[PATTERN | --prefix PREFIX] [--limit N] [--after NEXT] [--all]"], optional: 1,
    options: [OptionSpec("prefix", value: "PREFIX", "Lists only subjects that begin with PREFIX.")] + PagedList.options
      + [.json],
    details: """
      Lists the first \(Limits.listDefault), or as many as --limit says, or with --all every one.
      In PATTERN, * stands for any run of characters; quote it for the shell.
      """,
    examples: [
      .init("rulectl subjects 'user:*' --all | wc -l", "the number of users"),
      .init("rulectl subjects --limit 10 --json", "ten, and where the next page begins"),
    ])

  /// Asks for the subjects and prints them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    guard let pattern = arguments.operand(0) else {
      try PagedList.show("subjects", PagedList.params(["prefix"], arguments), arguments, environment) {
        text($0, environment)
      }
      return .done
    }
    if arguments.has("prefix") { throw UsageError("give PATTERN or --prefix, not both") }
    let limit =
      arguments.has("all") ? nil : try arguments.integer("limit", in: 1...Limits.listMaximum) ?? Limits.listDefault
    let subjects = SubjectPattern(pattern)
    let (found, isWhole) = try subjects.matches(
      after: arguments.value("after"), limit: limit, environment.connect())
    var answer: JSONObject = ["subjects": .array(found)]
    if !isWhole { answer["next"] = found.last }
    environment.show(.object(answer), arguments) { _ in text(found, environment) }
    if !isWhole, !arguments.has("json"), let next = found.last {
      environment.errors.write(
        "\(Figures.count(found.count)) shown, and there are more: list them with --all, or continue with --after "
          + "\(next.brief.printable)\n")
    }
    return .done
  }

  private static func text(_ subjects: [JSONValue], _ environment: ToolEnvironment) -> String {
    if subjects.isEmpty { environment.errors.write("no subjects\n") }
    return subjects.reduce(into: "") { $0 += $1.brief.printable + "\n" }
  }
}

/// A pattern for subjects, in which `*` stands for any run of characters.
struct SubjectPattern {
  private let glob: GlobPattern
  private let prefix: String

  /// The pattern that a text states.
  init(_ text: String) {
    glob = GlobPattern(text)
    prefix = String(text.prefix { $0 != "*" })
  }

  /// The subjects that match, in order, `limit` at most, and whether these are all.
  func matches(after: String? = nil, limit: Int? = nil, _ client: Client) throws -> (found: [JSONValue], isWhole: Bool)
  {
    var params: JSONObject = ["prefix": .string(prefix), "limit": .integer(Int64(Limits.listMaximum))]
    params["after"] = after.map(JSONValue.string)
    var found: [JSONValue] = []
    while true {
      let page = try client.call("subjects", .object(params))
      for subject in page.elements("subjects") where glob.matches(subject.stringValue ?? "") {
        if found.count == limit { return (found, false) }
        found.append(subject)
      }
      guard let next = page.member("next"), next != params["after"] else { return (found, true) }
      params["after"] = next
    }
  }
}

/// `rulectl export`: everything that is stored of a subject.
package enum ExportCommand: Command {
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

/// `rulectl forget`: erases everything that is stored of a subject, or of all that match a pattern.
package enum ForgetCommand: Command {
  package static let spec = CommandSpec(
    "forget", "Erases everything that is stored of a subject, or of all that match a pattern.",
    synopsis: ["SUBJECT", "PATTERN [--yes]"], required: ["SUBJECT"],
    options: [OptionSpec("yes", "Erases all that match a pattern without asking."), .json],
    details: """
      In a pattern, * stands for any run of characters; quote it for the shell. For a pattern it asks on a terminal, and
      needs --yes elsewhere. This cannot be undone; 'rulectl export SUBJECT' makes a copy first.
      """,
    examples: [
      .init("rulectl forget user:7", "erases it, and prints how much it was"),
      .init("rulectl forget 'test:*' --yes", "all subjects of a test"),
    ])

  /// Erases it and prints how much it was.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    if subject.contains("*") { return try forget(matching: subject, arguments, environment) }
    let result = try environment.connect().call("forget", ["subject": .string(subject)])
    environment.show(result, arguments) { result in
      let text = text(result.member("forgotten"))
      return text.isEmpty ? "nothing was stored of \(subject.printable)\n" : "forgot \(subject.printable): \(text)\n"
    }
    return .done
  }

  private static func forget(
    matching pattern: String, _ arguments: Arguments, _ environment: ToolEnvironment
  ) throws -> ExitCode {
    let client = try environment.connect()
    let found = try SubjectPattern(pattern).matches(client).found
    guard !found.isEmpty else { throw ToolError("nothing is stored of a subject like '\(pattern)'", exit: .no) }
    let count = Figures.count(found.count, "subject")
    guard arguments.has("yes") || environment.input.isTerminal else {
      throw UsageError("\(count) match '\(pattern)'; give --yes to erase all that is stored of them")
    }
    guard try environment.confirms("erase all that is stored of \(count)? This cannot be undone.", arguments) else {
      environment.errors.write("nothing was erased\n")
      return .no
    }
    var sum = JSONObject()
    for subject in found {
      let forgotten = try client.call("forget", ["subject": subject]).member("forgotten")?.objectValue ?? JSONObject()
      for (name, value) in forgotten {
        sum[name] = .integer((sum[name]?.intValue ?? 0) + (value.intValue ?? 0))
      }
    }
    let answer: JSONValue = ["subjects": .integer(Int64(found.count)), "forgotten": .object(sum)]
    environment.show(answer, arguments) { "forgot \(count): \(text($0.member("forgotten")))\n" }
    return .done
  }

  /// What was erased, as `state 1, timers 2`; empty for nothing.
  private static func text(_ forgotten: JSONValue?) -> String {
    let counts = (forgotten?.objectValue?.members ?? []).filter { $0.value.intValue != 0 }
    return counts.map { "\($0.name.printable) \(Figures.count(Int($0.value.intValue ?? 0)))" }.joined(separator: ", ")
  }
}
