internal import RuledCore
internal import RuledReports

enum RolloutCommand: Command {
  static let spec = CommandSpec(
    "rollout", "Tries other rules on a share of the subjects, for real.",
    synopsis: [
      "start DIR --percent P [--abort-on 'failures > 0.1%']", "set P", "status", "promote", "abort",
    ],
    required: ["ACTION"], optional: 1, completes: .words(["start", "set", "status", "promote", "abort"]),
    options: [
      OptionSpec("percent", value: "P", "The share of the subjects, 0 to 100, for 'start'."),
      OptionSpec(
        "abort-on", value: "LIMIT", "Aborts by itself when the candidate fails more often: 'failures > 0.1%'."),
      .json,
    ],
    details: """
      DIR holds whole rules, as the rules folder does; they are sent to the daemon. The subjects are chosen by a hash of
      their names, so that a higher share only adds some. It survives restarts, and changes of the rules folder wait
      while it runs. 'promote' puts the rules in force for all, 'abort' gives all subjects back at once.
      A share of failures counts once \(Limits.rolloutEvents) events were decided.
      """,
    examples: [
      .init("rulectl rollout start next --percent 5 --abort-on 'failures > 0.1%'", "on one subject in twenty"),
      .init("rulectl rollout set 25", "on more"), .init("rulectl rollout promote", "on all, as the live rules"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let action = arguments.operands[0]
    guard arguments.operands.count == (action == "start" || action == "set" ? 2 : 1),
      action == "start" || !(arguments.has("percent") || arguments.has("abort-on"))
    else { throw UsageError("write 'rulectl rollout \(Self.form(of: action))'") }
    let result: JSONValue
    switch action {
    case "start": result = try start(arguments.operands[1], arguments, environment)
    case "set":
      guard let percent = Double(arguments.operands[1]) else {
        throw UsageError("the share is a number from 0 to 100, not '\(arguments.operands[1])'")
      }
      result = try environment.connect().call("rollout_set", ["percent": .number(percent)])
    case "status", "promote", "abort": result = try environment.connect().call("rollout_\(action)", [:])
    default: throw UsageError("there is no 'rollout \(action)'; write start, set, status, promote or abort")
    }
    return environment.show(result, arguments) { action == "promote" ? promoted($0) : text($0, environment.style) }
  }

  private static func form(of action: String) -> String {
    spec.synopsis.first { $0.hasPrefix(action) } ?? spec.synopsis[0]
  }

  private static func start(
    _ path: String, _ arguments: Arguments, _ environment: ToolEnvironment
  ) throws -> JSONValue {
    guard let percent = try arguments.number("percent", in: 0...100) else {
      throw UsageError("say on how many subjects: --percent P")
    }
    let client = try environment.connect()
    return try client.call(
      "rollout_start",
      .members([
        "rules": try SentRules.send(SentRules.read(path), over: client), "percent": .number(percent),
        "abort_on": arguments.value("abort-on").map(JSONValue.string),
      ]))
  }

  private static func text(_ status: JSONValue, _ style: Style) -> String {
    let state = status.word("state").printable
    let percent = status.word("percent").printable
    let failures = status.member("failures")
    let events = Figures.count(status.count("events"), "event")
    let subjects = Figures.count(status.count("subjects"), "subject")
    var text = "revision \(style.bold(status.word("candidate").printable)): \(state) on \(percent) %\n"
    if let reason = status.member("reason") { text += style.red(reason.brief.printable) + "\n" }
    text += "decided \(events) of \(subjects), \(Figures.count(failures?.count("candidate") ?? 0)) with failures\n"
    let live = Figures.count(status.count("live_events"), "event")
    text += "the live rules: \(live), \(Figures.count(failures?.count("live") ?? 0)) with failures\n"
    return text + RunTimesTable.text(status, style)
  }

  private static func promoted(_ result: JSONValue) -> String {
    let revision = result.word("revision").printable
    let folder = result.word("folder").printable
    if result.member("in_folder")?.boolValue == true {
      return "revision \(revision) serves all subjects, and \(folder) holds it\n"
    }
    return "revision \(revision) serves all subjects; bring \(folder) to it: copy the rules that were tried there\n"
      + "it stays in force until that folder changes\n"
  }
}
