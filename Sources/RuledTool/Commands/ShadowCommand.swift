internal import RuledCore
internal import RuledReports

enum ShadowCommand: Command {
  static let spec = CommandSpec(
    "shadow", "Lets other rules see live events, and shows what they would decide otherwise.",
    synopsis: ["start DIR [--plugins A,B] [--percent P]", "status", "stop"],
    required: ["ACTION"], optional: 1, completes: .words(["start", "status", "stop"]),
    options: [
      OptionSpec("plugins", value: "A,B", "Takes only these plugins from DIR, and the others from the live rules."),
      OptionSpec("percent", value: "P", "The share of the subjects, 0 to 100; 100 by default."),
      .json,
    ],
    details: """
      The rules live in a world of their own, which begins with a copy of the store and follows the journal: nothing of
      it is sent, stored or counted. It ends with the daemon.
      """,
    examples: [.init("rulectl shadow start next", "before it goes live"), .init("rulectl shadow status", "later")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let action = arguments.operands[0]
    let result: JSONValue
    switch (action, arguments.operands.count) {
    case ("start", 2):
      let plugins = arguments.has("plugins") ? arguments.list("plugins").map(JSONValue.string) : nil
      let percent = try arguments.number("percent", in: 0...100)
      let client = try environment.connect()
      result = try client.call(
        "shadow_start",
        .members([
          "rules": try SentRules.send(SentRules.read(arguments.operands[1]), over: client),
          "plugins": plugins.map(JSONValue.array), "percent": percent.map(JSONValue.number),
        ]))
    case ("status", 1), ("stop", 1): result = try environment.connect().call("shadow_\(action)", [:])
    default: throw UsageError("write 'rulectl shadow \(spec.synopsis[0])', 'shadow status' or 'shadow stop'")
    }
    return environment.show(result, arguments) { text($0, environment.style) }
  }

  /// How many changes of each decision are listed; `--json` has more.
  private static let mostChanges = 3

  private static func text(_ status: JSONValue, _ style: Style) -> String {
    let outcomes = status.member("outcomes")
    let subjects = Figures.count(status.count("subjects"), "subject")
    func word(_ name: String) -> String { status.word(name).printable }
    var text = "revision \(style.bold(word("candidate"))) since \(word("since")), on \(word("percent")) %\n"
    if let error = status.member("error") { text += style.red(error.brief.printable) + "\n" }
    text += "\(Figures.count(status.count("events"), "event")) of \(subjects): "
    text +=
      "\(Figures.count(outcomes?.count("equal") ?? 0)) equal, \(Figures.count(outcomes?.count("changed") ?? 0)) changed, "
    text += "\(Figures.count(status.count("skipped"), "subject")) skipped"
    if let behind = status["behind_s"]?.doubleValue { text += "; \(Figures.plain(behind)) s behind" }
    text += "\n"
    if status.count("redacted") > 0 {
      let events = Figures.count(status.count("redacted"), "event")
      text += style.yellow("\(events) had redacted values: they and what follows may differ for that") + "\n"
    }
    for decision in status.elements("decisions")
    where decision.differences > 0 {
      let name = "\(decision.word("plugin")).\(decision.word("key"))"
      text +=
        "\n\(style.bold(name.printable))  \(decision.count("equal")) equal, \(decision.count("changed")) changed, "
      text += "\(decision.count("new")) new, \(decision.count("gone")) gone\n"
      for change in decision.elements("changes").prefix(mostChanges) {
        let (before, after) = (change["before"]?.text ?? "", change["after"]?.text ?? "")
        text += "  \(before.printable) → \(after.printable)  \(Figures.count(change.count("count")))\n"
      }
    }
    return text + RunTimesTable.text(status, style)
  }
}
