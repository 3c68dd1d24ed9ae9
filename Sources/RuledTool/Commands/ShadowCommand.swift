internal import RuledCore
internal import RuledReplay
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

  /// How many changes of each decision and how many examples are listed; `--json` has more.
  private static let (mostChanges, mostExamples) = (3, 3)

  private static func text(_ status: JSONValue, _ style: Style) -> String {
    let outcomes = status.member("outcomes") ?? .null
    let (events, equal) = (status.count("events"), outcomes.count("equal"))
    let subjects = Figures.count(status.count("subjects"), "subject")
    func word(_ name: String) -> String { status.word(name).printable }
    var text = "revision \(style.bold(word("candidate"))) since \(word("since")), on \(word("percent")) %\n"
    if let error = status.member("error") { text += style.red(error.brief.printable) + "\n" }
    text += "\(Figures.count(events, "event")) of \(subjects): "
    text += "\(Figures.count(equal)) equal, \(Figures.count(events - equal)) changed, "
    text += "\(Figures.count(status.count("skipped"), "subject")) skipped"
    if let behind = status["behind_s"]?.doubleValue { text += "; \(Figures.plain(behind)) s behind" }
    text += "\n"
    let own = equal + outcomes.count("changed") - events
    if own > 0 {
      let further = Figures.count(own, "further event")
      text += "\(further) \(own == 1 ? "happens" : "happen") in the shadow alone: messages and timers of its own\n"
    }
    if status.count("redacted") > 0 {
      let events = Figures.count(status.count("redacted"), "event")
      text += style.yellow("\(events) had redacted values: they and what follows may differ for that") + "\n"
    }
    for decision in status.elements("decisions")
    where decision.differences > 0 {
      let name = "\(decision.word("plugin")).\(decision.word("key"))"
      text +=
        "\n\(style.bold(name.quotedName))  \(decision.count("equal")) equal, \(decision.count("changed")) changed, "
      text += "\(decision.count("new")) new, \(decision.count("gone")) gone\n"
      for change in decision.elements("changes").prefix(mostChanges) {
        let (before, after) = (change["before"]?.text ?? "", change["after"]?.text ?? "")
        text += "  \(before.printable) → \(after.printable)  \(Figures.count(change.count("count")))\n"
      }
    }
    let examples = status.elements("examples").suffix(mostExamples)
    if !examples.isEmpty { text += "\n" + style.bold("examples") + "\n" }
    for example in examples { text += describe(example, style) }
    return text + RunTimesTable.text(status, style)
  }

  private static func describe(_ example: JSONValue, _ style: Style) -> String {
    let (subject, event) = (example.word("subject"), example.word("event"))
    let sides = ["before", "after"].map { side in
      example.member(side).map { OutcomeText($0, style: .plain).findings }
    }
    func line(_ side: [String]?, beside other: [String]?) -> String {
      guard let side else { return "did not happen" }
      let others = Set(other ?? [])
      let text = (side.filter { !others.contains($0) } + side.filter(others.contains)).joined(separator: "; ")
      if text.isEmpty { return "no decisions, no effects" }
      return text.count > 200 ? text.prefix(199) + "…" : text
    }
    var text = "  \(style.cyan(subject.quotedName))  \(event.quotedName)\n"
    text += "    live    \(line(sides[0], beside: sides[1]))\n    shadow  \(line(sides[1], beside: sides[0]))\n"
    // Of an event that only one side has, 'explain' knows no difference.
    if sides[1] != nil { text += "    \(Comparison.explainCommand(subject, event, "DIR"))\n" }
    return text
  }
}
