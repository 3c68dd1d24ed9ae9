internal import RuledCore
internal import RuledReports

enum EffectsCommand: Command {
  static let spec = CommandSpec(
    "effects", "Lists, shows, resends, drops and releases effects that are not delivered.",
    synopsis: [
      "[--sink SINK] [--failed|--waiting] [--subject SUBJECT] [--type TYPE] [--limit N] [--after NEXT] [--all]",
      "show ID [--subject SUBJECT]", "resend ID | --failed --sink SINK",
      "drop ID | --failed --sink SINK [--to FILE] [--yes]", "release",
    ],
    optional: 2, completes: .words(["show", "resend", "drop", "release"]),
    options: [
      OptionSpec("sink", value: "SINK", "Only this sink's."),
      OptionSpec("failed", "Only those that were given up."),
      OptionSpec("waiting", "Only those that are going to be tried."),
      OptionSpec("subject", value: "SUBJECT", "Only this subject's."),
      OptionSpec("type", value: "TYPE", "Only those of this type."),
      OptionSpec("to", value: "FILE", "Appends what is dropped to a file, a line of JSON each.", completes: .files),
      OptionSpec("yes", "Drops without asking."),
    ] + PagedList.options + [.json],
    details: """
      An effect that a receiver refuses is given up: it stays, and 'resend' tries it again. 'resend ID' also ends the
      wait of an effect that is going to be tried. 'drop' cannot be undone; with --to the file is on the disk before
      anything is dropped. 'release' has effects delivered that are held back since 'ruled --restore --hold-effects'.
      """,
    examples: [
      .init("rulectl effects --failed", "what was given up, and why"),
      .init("rulectl effects resend --failed --sink conversions", "after its receiver was repaired"),
      .init("rulectl effects drop --failed --sink conversions --to dropped.ndjson", "keeps a copy"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let action = arguments.operand(0)
    for option in ["to", "yes"] where arguments.has(option) && action != "drop" {
      throw UsageError("--\(option) belongs to 'effects drop'")
    }
    switch action {
    case nil: return try list(arguments, environment)
    case "show":
      return try environment.answer("effect", EffectChoice(arguments).params, arguments) { effect in
        effect.lines(environment.style) { $0 == "data" ? $1.prettyText() : $1.brief.printable }
      }
    case "resend":
      return try environment.answer("resend", EffectChoice(arguments).params, arguments) { result in
        let count = result.count("resent")
        return count == 0 ? "nothing is given up\n" : "\(Figures.count(count, "effect")) will be tried again\n"
      }
    case "drop": return try drop(arguments, environment)
    case "release":
      return try environment.answer("release", [:], arguments) { result in
        result.member("released") == true ? "effects are delivered from now on\n" : "no effects were held back\n"
      }
    case let word?:
      let all = ["show", "resend", "drop", "release"], advice = "write show, resend, drop or release"
      throw UsageError("there is no 'effects \(word)'" + NearestName.hint(word, in: all, otherwise: advice))
    }
  }

  // MARK: Listing

  private static func list(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var params = PagedList.params(["sink", "subject", "type"], arguments)
    switch (arguments.has("failed"), arguments.has("waiting")) {
    case (true, false): params["status"] = "failed"
    case (false, true): params["status"] = "waiting"
    case (false, false): break
    case (true, true): throw UsageError("give --failed or --waiting, not both; without them, both are listed")
    }
    return try PagedList.show("effects", params, arguments, environment) { table($0, environment.style) }
  }

  private static func table(_ effects: [JSONValue], _ style: Style) -> String {
    Table([
      "ID", "SINK", "PLUGIN", "SUBJECT", "TYPE", "STATUS", ">AGE", ">TRIES", "NEXT", "ERROR",
    ]).rows(effects) { effect in
      let names = ["id", "sink", "plugin", "subject", "type", "status"].map { effect.member($0)?.brief ?? "?" }
      return names + [
        Figures.duration(seconds: effect.count("age_s")), effect.word("tries", else: "-"), next(effect), error(effect),
      ]
    }.text(style, empty: "no effects are undelivered\n")
  }

  private static func next(_ effect: JSONValue) -> String {
    if effect.member("under_way") != nil { return "under way" }
    return effect.word("next_try", else: "-")
  }

  private static func error(_ effect: JSONValue) -> String {
    guard let error = effect.member("error")?.brief else { return "-" }
    return error + (effect.member("body").map { ": \($0.brief)" } ?? "")
  }

  // MARK: Dropping

  /// Removes effects, once a file has them.
  private static func drop(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let choice = try EffectChoice(arguments)
    let client = try environment.connect()
    let what = choice.sink.map { "all effects that were given up for the sink '\($0)'" } ?? "this effect"
    let question = "drop \(what)? It will never be delivered."
    guard try environment.confirms(question, arguments, or: "nothing was dropped") else { return .no }
    let file = try arguments.value("to").map { path throws(ToolError) in try AppendedFile(path) }
    var dropped = 0
    func drop(_ effects: [JSONValue]) throws {
      guard !effects.isEmpty else { return }
      try file?.append(effects)
      let keys = effects.compactMap { $0.member("key") }
      dropped += try client.call("drop_effects", ["keys": .array(keys)]).count("dropped")
    }
    if var params = choice.params.objectValue, choice.sink != nil {
      params["data"] = true
      try PagedList.forEachPage("effects", params, client) { page in
        try drop(page.elements("effects"))
        return true
      }
    } else {
      try drop([client.call("effect", choice.params)])
    }
    return environment.show(["dropped": .integer(Int64(dropped))], arguments) { _ in
      dropped == 0 ? "nothing is given up\n" : "\(Figures.count(dropped, "effect")) dropped\n"
    }
  }
}

/// The effects that an action is for: one, by its id, or all of a sink that were given up.
private struct EffectChoice {
  let params: JSONValue
  /// The sink, if all are meant that it has given up.
  let sink: String?

  init(_ arguments: Arguments) throws(UsageError) {
    let action = arguments.operand(0) ?? ""
    if arguments.has("waiting") {
      throw UsageError("--waiting belongs to the list; '\(action)' takes an ID or --failed")
    }
    sink = arguments.value("sink")
    switch (arguments.operand(1), arguments.has("failed"), sink) {
    case (let id?, false, nil):
      params = .members(["id": .string(id), "subject": arguments.value("subject").map(JSONValue.string)])
    case (nil, true, let sink?) where action != "show": params = ["sink": .string(sink), "status": "failed"]
    case (_?, _, _): throw UsageError("give an ID or --failed --sink SINK, not both")
    default:
      throw UsageError(
        action == "show"
          ? "say which: an ID that 'rulectl effects' lists"
          : "say which: an ID that 'rulectl effects' lists, or --failed --sink SINK")
    }
  }
}
