import Glibc
package import RuledCore
internal import RuledReports

/// `rulectl log`: what happened, from the journal.
package enum LogCommand: Command {
  package static let spec = CommandSpec(
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

  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
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
      environment.output.flush()
      remaining -= entries.count
      after = max(after, answer.count("last"))
      if answer.member("next") != nil { continue }
      guard follows else { break }
      sleep(1)
    }
    return .done
  }

  private static func params(_ arguments: Arguments, after: Int, limit: Int) -> JSONValue {
    func string(_ name: String) -> JSONValue? { arguments.value(name).map(JSONValue.string) }
    return .members([
      "subject": arguments.operand(0).map(JSONValue.string), "since": string("since"), "until": string("until"),
      "type": string("type"), "plugin": string("plugin"), "decision": string("decision"),
      "failures": arguments.has("failures") ? true : nil, "after": after > 0 ? .integer(Int64(after)) : nil,
      "limit": .integer(Int64(limit)),
    ])
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
    let origin = entry.member("origin")?.brief ?? "?"
    let subject = entry.member("subject")?.brief ?? ""
    let what = OutcomeText(entry, style: style).line
    environment.output.write(
      style.dim("#\(entry.member("sequence")?.brief ?? "?")") + "  \(entry.member("at")?.brief ?? "?")"
        + "  \(style.bold(subject.isEmpty ? "-" : subject.printable))  v\(entry.member("version")?.brief ?? "?")"
        + "  \(style.cyan(type.printable))\(id)" + (origin == "client" ? "" : "  \(style.dim(origin))")
        + (what.isEmpty ? "" : "  \(what)") + "\n")
  }
}

/// `rulectl diff`: what changed in a subject's states between two versions.
package enum DiffCommand: Command {
  package static let spec = CommandSpec(
    "diff", "Shows what changed in a subject's states from one version to another.",
    synopsis: ["SUBJECT N M"], required: ["SUBJECT", "N", "M"], options: [.json],
    details: "The states are made from the journal, with the rules of then. Version 0 is before the first event.",
    examples: [
      .init("rulectl diff user:7 41 42", "what one event changed"),
      .init("rulectl diff user:7 0 42", "all that events have made of it"),
    ])

  /// Asks for both states and prints the differences.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let versions = try arguments.operands[1...].map { text in
      guard let version = Int64(text), version >= 0 else {
        throw UsageError("N and M are versions, whole numbers from 0 on, not '\(text)'")
      }
      return version
    }
    let client = try environment.connect()
    let states = try versions.map { version in
      version == 0
        ? [:] : try client.call("state", ["subject": .string(subject), "version": .integer(version)]).member("plugins")
    }
    var changes: [(path: String, before: JSONValue?, after: JSONValue?)] = []
    compare(states[0], states[1], at: "", into: &changes)
    let answer: JSONValue = [
      "subject": .string(subject), "from": .integer(versions[0]), "to": .integer(versions[1]),
      "changes": .array(
        changes.map { change in
          .members(["path": .string(change.path), "before": change.before, "after": change.after])
        }),
    ]
    environment.show(answer, arguments) { _ in
      let style = environment.style
      let lines = changes.map { change in
        let before = change.before.map { "\n  " + style.red("- \($0.text.printable)") } ?? ""
        let after = change.after.map { "\n  " + style.green("+ \($0.text.printable)") } ?? ""
        return style.bold(change.path.printable) + before + after + "\n"
      }
      return lines.isEmpty ? "nothing changed\n" : lines.joined()
    }
    return .done
  }

  /// Adds the paths at which two values differ, down to the members that changed.
  private static func compare(
    _ before: JSONValue?, _ after: JSONValue?, at path: String,
    into changes: inout [(path: String, before: JSONValue?, after: JSONValue?)]
  ) {
    if before == after { return }
    if let old = before?.objectValue, let new = after?.objectValue {
      for name in Set(old.names).union(new.names).sorted() {
        compare(old[name], new[name], at: path.isEmpty ? name : "\(path).\(name)", into: &changes)
      }
      return
    }
    if let old = before?.arrayValue, let new = after?.arrayValue {
      for index in 0..<max(old.count, new.count) {
        compare(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil, at: "\(path)[\(index + 1)]",
          into: &changes)
      }
      return
    }
    changes.append((path, before, after))
  }
}
