package import RuledCore
internal import RuledEngine
internal import RuledLua
package import RuledReports

/// `rulectl rollout`: tries rules on some subjects, for real.
package enum RolloutCommand: Command {
  package static let spec = CommandSpec(
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
      A share of failures counts once \(Limits.rolloutEvents) events were decided. Rules and request may have 1 MiB together,
      unless limits.request_bytes is set higher.
      """,
    examples: [
      .init("rulectl rollout start next --percent 5 --abort-on 'failures > 0.1%'", "on one subject in twenty"),
      .init("rulectl rollout set 25", "on more"), .init("rulectl rollout promote", "on all, as the live rules"),
    ])

  /// Starts, changes, shows or ends.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
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
    environment.show(result, arguments) { action == "promote" ? promoted($0) : text($0, environment.style) }
    return .done
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
    return try environment.connect().call(
      "rollout_start",
      .members([
        "rules": try SentRules.read(path), "percent": .number(percent),
        "abort_on": arguments.value("abort-on").map(JSONValue.string),
      ]))
  }

  private static func text(_ status: JSONValue, _ style: Style) -> String {
    let state = status.member("state")?.brief.printable ?? "?"
    let percent = status.member("percent")?.brief.printable ?? "?"
    let failures = status.member("failures")
    let events = Figures.count(status.count("events"), "event")
    let subjects = Figures.count(status.count("subjects"), "subject")
    var text = "revision \(style.bold(status.member("candidate")?.brief.printable ?? "?")): \(state) on \(percent) %\n"
    if let reason = status.member("reason") { text += style.red(reason.brief.printable) + "\n" }
    text += "decided \(events) of \(subjects), \(Figures.count(failures?.count("candidate") ?? 0)) with failures\n"
    let live = Figures.count(status.count("live_events"), "event")
    text += "the live rules: \(live), \(Figures.count(failures?.count("live") ?? 0)) with failures\n"
    return text + RunTimesTable.text(status, style)
  }

  private static func promoted(_ result: JSONValue) -> String {
    let revision = result.member("revision")?.brief.printable ?? "?"
    let folder = result.member("folder")?.brief.printable ?? "?"
    if result.member("in_folder")?.boolValue == true {
      return "revision \(revision) serves all subjects, and \(folder) holds it\n"
    }
    return "revision \(revision) serves all subjects; bring \(folder) to it: copy the rules that were tried there\n"
      + "it stays in force until that folder changes\n"
  }
}

/// The rules of a folder as they are sent to the daemon.
enum SentRules {
  /// Reads a folder of whole rules.
  static func read(_ path: String) throws -> JSONValue {
    do throws(ReloadError) { return try RulesFolder.read(path).encoded } catch {
      let lines = error.errors.map(\.description)
      throw ToolError(lines.joined(separator: "\n"), exit: .no)
    }
  }
}

/// `rulectl shadow`: lets rules see live events beside the live rules.
package enum ShadowCommand: Command {
  package static let spec = CommandSpec(
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

  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let action = arguments.operands[0]
    let result: JSONValue
    switch (action, arguments.operands.count) {
    case ("start", 2):
      let plugins = arguments.has("plugins") ? arguments.list("plugins").map(JSONValue.string) : nil
      let percent = try arguments.number("percent", in: 0...100)
      result = try environment.connect().call(
        "shadow_start",
        .members([
          "rules": try SentRules.read(arguments.operands[1]), "plugins": plugins.map(JSONValue.array),
          "percent": percent.map(JSONValue.number),
        ]))
    case ("status", 1), ("stop", 1): result = try environment.connect().call("shadow_\(action)", [:])
    default: throw UsageError("write 'rulectl shadow \(spec.synopsis[0])', 'shadow status' or 'shadow stop'")
    }
    environment.show(result, arguments) { text($0, environment.style) }
    return .done
  }

  /// How many changes of each decision are listed; `--json` has more.
  private static let mostChanges = 3

  private static func text(_ status: JSONValue, _ style: Style) -> String {
    let outcomes = status.member("outcomes")
    let subjects = Figures.count(status.count("subjects"), "subject")
    var text = "revision \(style.bold(status.member("candidate")?.brief.printable ?? "?")) since "
    text +=
      "\(status.member("since")?.brief.printable ?? "?"), on \(status.member("percent")?.brief.printable ?? "?") %\n"
    if let error = status.member("error") { text += style.red(error.brief.printable) + "\n" }
    text += "\(Figures.count(status.count("events"), "event")) of \(subjects): "
    text +=
      "\(Figures.count(outcomes?.count("equal") ?? 0)) equal, \(Figures.count(outcomes?.count("changed") ?? 0)) changed, "
    text += "\(Figures.count(status.count("skipped"), "subject")) skipped"
    if let behind = status["behind_s"]?.doubleValue { text += "; \(Figures.plain(behind)) s behind" }
    text += "\n"
    for decision in status.elements("decisions")
    where decision.count("changed") + decision.count("new") + decision.count("gone") > 0 {
      let name = "\(decision.member("plugin")?.brief ?? "?").\(decision.member("key")?.brief ?? "?")"
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

/// Writes how long the plugins of live rules and of a candidate take for an event, side by side.
package enum RunTimesTable {
  /// The table of `run_times`, the member of a status; empty where nothing was measured.
  package static func text(_ status: JSONValue, _ style: Style) -> String {
    let plugins = status.elements("run_times")
    guard !plugins.isEmpty else { return "" }
    var table = Table([
      "RUN TIME": .left, "LIVE P50": .right, "LIVE P99": .right, "CANDIDATE P50": .right, "CANDIDATE P99": .right,
    ])
    for plugin in plugins {
      let times = ["live", "candidate"].flatMap { side in
        ["p50_us", "p99_us"].map { plugin[side]?[$0]?.doubleValue.map(Figures.micros) ?? "-" }
      }
      table.add([(plugin["plugin"]?.brief ?? "?").printable] + times)
    }
    return "\n" + table.text(style)
  }
}
