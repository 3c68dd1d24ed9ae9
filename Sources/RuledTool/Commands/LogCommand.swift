import Glibc
internal import RuledCore
internal import RuledReports

enum LogCommand: Command {
  static let spec = CommandSpec(
    "log", "Lists what happened, from the journal, the oldest first.",
    synopsis: ["[SUBJECT] [--since T] [--until T] [--type T] [--plugin P] [--decision KEY[=VALUE]] [--failures] …"],
    optional: 1,
    options: [
      OptionSpec("since", value: "T", "Begins at this time, or so long ago: 2026-11-22T12:00:00Z, 90m, 2h, 7d."),
      OptionSpec("until", value: "T", "Ends at this time, or so long ago."),
      OptionSpec("type", value: "TYPE", "Lists only events of this type, or of those that TYPE.* means."),
      OptionSpec("plugin", short: "p", value: "PLUGIN", "Lists only events on which this plugin decided something."),
      OptionSpec("decision", value: "KEY[=VALUE]", "Lists only events with this decision, or with this value of it."),
      OptionSpec("failures", "Lists only events on which a plugin failed."),
      OptionSpec("after", value: "SEQUENCE", "Begins after this sequence."),
      OptionSpec("limit", value: "N", "How many to list; 1,000 by default."),
      OptionSpec("follow", short: "f", "Goes on with what happens, until it is interrupted."),
      OptionSpec("json", "Prints each entry as JSON, one a line."),
    ],
    details:
      "Times are those of the daemon's clock. What an event led to follows it: messages and timers have entries of their own.",
    examples: [
      .init("rulectl log user:7 --since 2h", "one subject"),
      .init("rulectl log --decision screen=welcome --limit 20", "whoever saw that screen"),
      .init("rulectl log --failures --since 7d --json", "for a script"),
    ])

  /// How many entries are asked for at a time.
  private static let page = 1_000

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let client = try environment.connect()
    let follows = arguments.has("follow")
    var remaining = try arguments.integer("limit", in: 1...Int.max) ?? (follows ? Int.max : page)
    var after = try arguments.integer("after", in: 0...Int.max) ?? 0
    var known: [JSONValue] = []
    while remaining > 0 {
      let answer = try client.call("log", params(arguments, after: after, limit: min(remaining, page)))
      let entries = answer.elements("entries")
      for gap in answer.elements("gaps") where !known.contains(gap) {
        known.append(gap)
        if let line = text(gap: gap) { environment.errors.write(line) }
      }
      for entry in entries { print(entry, asJSON: arguments.has("json"), environment) }
      try environment.output.finish()
      remaining -= entries.count
      after = max(after, answer.count("last"))
      if answer.member("next") != nil { continue }
      guard follows else { break }
      sleep(1)
    }
    return .done
  }

  private static func params(_ arguments: Arguments, after: Int, limit: Int) -> JSONValue {
    var params = PagedList.params(["since", "until", "type", "plugin", "decision"], arguments)
    params["subject"] = arguments.operand(0).map(JSONValue.string)
    if arguments.has("failures") { params["failures"] = true }
    if after > 0 { params["after"] = .integer(Int64(after)) }
    params["limit"] = .integer(Int64(limit))
    return .object(params)
  }

  private static func text(gap: JSONValue) -> String? {
    guard let reason = gap.member("reason")?.stringValue else { return nil }
    let isListed = gap.member("listed")?.boolValue == true
    return "the journal \(isListed ? "can't replay" : "lacks") the sequences \(gap.count("first")) to "
      + "\(gap.count("last")): \(reason.printable)\n"
  }

  private static func print(_ entry: JSONValue, asJSON: Bool, _ environment: ToolEnvironment) {
    guard !asJSON else { return environment.output.write(entry.text + "\n") }
    let style = environment.style
    let type = entry.member("event")?.member("type")?.brief ?? "-"
    let id = (entry.member("event")?.member("id")?.brief).map { " " + style.dim($0.printable) } ?? ""
    let origin = entry.word("origin")
    let subject = entry.word("subject", else: "")
    let what = OutcomeText(entry, style: style).line
    environment.output.write(
      style.dim("#\(entry.word("sequence"))") + "  \(entry.word("at"))"
        + "  \(style.bold(subject.isEmpty ? "-" : subject.printable))  v\(entry.word("version"))"
        + "  \(style.cyan(type.printable))\(id)" + (origin == "client" ? "" : "  \(style.dim(origin))")
        + (what.isEmpty ? "" : "  \(what)") + "\n")
  }
}
