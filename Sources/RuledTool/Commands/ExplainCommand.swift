internal import RuledCore
internal import RuledJSON
internal import RuledReports

enum ExplainCommand: Command {
  static let spec = CommandSpec(
    "explain", "Shows which rules an event would fire, or a past event did, and why not the others; stores nothing.",
    synopsis: ["EVENT.json|-", "SUBJECT EVENT-ID [--rules DIR]"], required: ["EVENT.json|SUBJECT"],
    optional: CommandSpec.any, completes: .files,
    options: [
      OptionSpec(
        "rules", value: "DIR", "For a past event, also what the rules in DIR would have said.", completes: .folders),
      OptionSpec("internal", "Explains an event of a type that only rules make; for administrators."),
      OptionSpec("all", "Lists what rules listen to, where none listens to the event."),
      OptionSpec("no-values", "Leaves out the values of what rules read, and for a past event the state before it."),
      .json,
    ],
    details: """
      The file holds one CloudEvent; '-' is standard input. The event is sent as a dry run, as
      'rulectl event TYPE SUBJECT [key=value …] --explain --dry-run' does with one that is typed.
      A past event is explained from the journal: with the rules, settings and state of then. The last one with that id
      counts; 'rulectl log SUBJECT' lists the ids.
      """,
    examples: [
      .init("rulectl explain launched.json", "a tree of plugins and rules"),
      .init("rulectl explain - < launched.json", "the same from standard input"),
      .init("rulectl explain user:7 3f0e8a51 --rules next", "a past event, and what other rules make of it"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if let unexpected = arguments.operand(2) {
      throw UsageError(
        "unexpected argument '\(unexpected)'; write 'rulectl explain SUBJECT EVENT-ID', or for an event that has not "
          + "happened 'rulectl event TYPE SUBJECT [key=value …] --explain --dry-run'")
    }
    if let id = arguments.operand(1) {
      return try explainPast(arguments.operands[0], id, arguments, environment)
    }
    if arguments.has("rules") { throw UsageError("--rules goes with a past event: SUBJECT EVENT-ID --rules DIR") }
    let file = arguments.operands[0]
    let bytes = try environment.open(file).readAll()
    let parsed = bytes.withView { bytes in
      Result { () throws(JSONError) in try JSONValue(parsing: bytes) }
    }
    guard case .object(var event) = try parsed.mapError({ ToolError("\(file) is not JSON: \($0)") }).get() else {
      throw ToolError("\(file) has no event: an event is a JSON object with 'type' and 'subject'")
    }
    event["dryrun"] = true
    if arguments.has("internal") { event["internal"] = true }
    event["explain"] = arguments.has("no-values") ? "without_values" : true
    let type = event["type"]?.brief ?? "event"
    return try environment.answer("event", .object(event), arguments) { outcome in
      let tree = TraceTree(outcome, style: environment.style, all: arguments.has("all")).text(type: type)
      return tree + "\n" + OutcomeText(outcome, style: environment.style).text(isDryRun: true)
    }
  }

  // MARK: Past events

  private static func explainPast(
    _ subject: String, _ id: String, _ arguments: Arguments, _ environment: ToolEnvironment
  ) throws -> ExitCode {
    let rules = try arguments.value("rules").map { try RulesSelection([$0]).read().encoded }
    let client = try environment.connect()
    let past = try client.call(
      "explain_past",
      .members([
        "subject": .string(subject), "id": .string(id),
        "rules": try rules.map { try SentRules.send($0, over: client) },
        "no_values": arguments.has("no-values") ? true : nil,
      ]))
    return environment.show(past, arguments) { text($0, environment.style, all: arguments.has("all")) }
  }

  private static func text(_ past: JSONValue, _ style: Style, all: Bool) -> String {
    func member(_ name: String) -> String { past.word(name).printable }
    let type = past.member("event")?.member("type")?.brief ?? "event"
    var origin = member("origin")
    if past.member("first_origin") != nil { origin += " of a \(member("first_origin"))" }
    if past.member("sender") != nil { origin += " of \(member("sender"))" }
    var text = "\(style.bold(type.printable))  \(member("subject"))  at \(member("at"))  from a \(origin)\n\n"
    if let states = past.member("state")?.objectValue {
      text += style.bold("state before") + "\n"
      for (plugin, state) in states { text += "  \(style.cyan(plugin.printable))  \(state.text.printable)\n" }
      text += "\n"
    }
    let redacted = past.elements("redacted").map(\.brief.printable).joined(separator: ", ")
    let isExact = redacted.isEmpty && past.member("differs") == nil
    text += style.bold("revision \(member("revision")), \(isExact ? "as it was" : "replayed")") + "\n"
    if !redacted.isEmpty {
      text += style.yellow("\(redacted) was redacted: a digest is in its place, so the decision may differ") + "\n"
    }
    let outcome = past.member("outcome") ?? .null
    text += tree(outcome, type: type, style, all: all)
    if let reason = past.member("differs")?.stringValue {
      text += "\n" + style.yellow("this is not what was recorded: \(reason.printable)") + "\n"
      text += differences(findings(past.member("recorded") ?? .null), findings(outcome), style) ?? ""
    }
    guard let other = past.member("other") else { return text }
    let revision = other.word("revision").printable
    text += "\n" + style.bold("revision \(revision), as it would have been") + "\n"
    guard let beside = other.member("outcome"), beside.objectValue != nil else {
      return text + "this would not have happened\n"
    }
    text += tree(beside, type: type, style, all: all)
    return text + "\n" + comparison(outcome, beside, changes: other.elements("changes"), style)
  }

  private static func findings(_ outcome: JSONValue) -> [String] { OutcomeText(outcome, style: .plain).findings }

  /// The facts of some operations that neither traces nor `changes` have, by their name in a trace.
  private static let untold = [
    "sends": "what messages say", "publishes": "what publications say", "counts": "the amounts of counters",
    "places": "the options of boards",
  ]

  /// How two outcomes differ, and the subject after them.
  private static func comparison(
    _ before: JSONValue, _ after: JSONValue, changes: [JSONValue], _ style: Style
  ) -> String {
    func lines(_ outcome: JSONValue) -> [String] {
      let asked = outcome.elements("trace").flatMap { entry in
        ["sends", "publishes", "counts"].flatMap { name in
          entry.elements(name).map { "\(entry.word("plugin")) \(name) \($0.brief)".printable }
        }
      }
      return findings(outcome) + asked
    }
    if let text = differences(lines(before), lines(after), changes: changes, style) { return text }
    let entries = before.elements("trace") + after.elements("trace")
    let rest = untold.filter { name, _ in entries.contains { !$0.elements(name).isEmpty } }.map(\.value).sorted()
    guard !rest.isEmpty else { return "both say the same of it, in the state of then\n" }
    return "no difference is seen, in the state of then; not compared: \(rest.joined(separator: ", "))\n"
  }

  /// The lines that only one of two sides has, each as often as the other lacks it, and the changes; nil if there are none.
  private static func differences(
    _ old: [String], _ new: [String], changes: [JSONValue] = [], _ style: Style
  ) -> String? {
    func only(_ lines: [String], _ others: [String]) -> [String] {
      var others = others
      return lines.filter { line in
        guard let same = others.firstIndex(of: line) else { return true }
        others.remove(at: same)
        return false
      }
    }
    func changed(_ side: String) -> [String] {
      changes.compactMap { change in change.member(side).map { "\(change.word("path")) = \($0.text)".printable } }
    }
    let (gone, come) = (only(old, new) + changed("before"), only(new, old) + changed("after"))
    let lines = gone.map { style.red("- \($0)") } + come.map { style.green("+ \($0)") }
    return lines.isEmpty ? nil : style.bold("they differ") + "\n" + lines.map { "  \($0)\n" }.joined()
  }

  private static func tree(_ outcome: JSONValue, type: String, _ style: Style, all: Bool) -> String {
    TraceTree(outcome, style: style, all: all).text(type: type)
      + OutcomeText(outcome, style: style).details(isParked: false)
  }
}
