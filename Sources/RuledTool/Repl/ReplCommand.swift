internal import RuledCore
internal import RuledEngine
internal import RuledReports

enum ReplCommand: Command {
  static let spec = CommandSpec(
    "repl", "Evaluates Lua with the host's functions, line by line, and shows events to the rules on disk.",
    synopsis: ["[SUBJECT] [--rules DIR]"], optional: 1,
    options: [
      OptionSpec(
        "rules", short: "r", value: "DIR", "The rules folder; 'rules' by default, if there is one.", completes: .folders
      )
    ],
    details: """
      A line is an expression, whose values are shown, or statements. It may call the host's functions as a rule does.
      'state' is a table of the plugins' states by name, 'subject' the subject, '_' the last value.
      With SUBJECT, the daemon is asked once for its state; all else happens in memory, and the daemon notices nothing.
      '.event TYPE key=value …' reads the rules again and shows them an event; the states of this session follow it.
      '.clock' prints the session's time, '.clock 1d' moves it: it begins as that of the daemon, if the daemon's clock is set
      by hand, and else is the host's. '.help' lists the commands. On a terminal, Tab completes, and the arrow keys bring back earlier lines, which are
      kept in $XDG_STATE_HOME/rulectl/history or ~/.local/state/rulectl/history. Lines from a pipe are evaluated too.
      Changes to 'state' by a line are lost with the line. The exit code is 1 when a line from a pipe failed.
      """,
    examples: [
      .init("rulectl repl", "host functions, without a daemon"),
      .init("rulectl repl user:7", "with a copy of a subject's state"),
      .init("echo 'calendar.date(now(), \"Europe/Berlin\")' | rulectl repl", "for a script"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var repl = try Repl(session(arguments, environment), environment)
    return try repl.run()
  }

  private static func session(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ReplSession {
    let folder = arguments.value("rules")
    let selection = try folder.map { path throws(ToolError) in try RulesSelection([path]) } ?? (try? RulesSelection([]))
    guard let subject = arguments.operand(0) else {
      let standing = try? environment.connect().manualClock()
      return try ReplSession(selection, subject: "repl:1", version: 0, states: [:], standing: standing)
    }
    let client = try environment.connect()
    let standing = try client.manualClock()
    let found = try client.call("state", ["subject": .string(subject)], unless: [.notFound]) ?? [:]
    return try ReplSession(
      selection, subject: subject, version: UInt64(found.count("version")),
      states: found.member("plugins")?.objectValue ?? [:], standing: standing)
  }
}

private struct Repl {
  private let session: ReplSession
  private let environment: ToolEnvironment
  private let style: Style
  private let editor: LineEditor?
  private var failed = 0

  init(_ session: ReplSession, _ environment: ToolEnvironment) {
    self.session = session
    self.environment = environment
    style = environment.style
    let isTerminal = environment.input.isTerminal && environment.output.isTerminal
    editor = isTerminal ? LineEditor(history: LineHistory(environment.variables)) : nil
  }

  mutating func run() throws -> ExitCode {
    if let editor {
      editor.completion = { [session] line in
        ReplCompletion(catalog: session.catalog, states: (try? session.states()) ?? [:]).candidates(line)
      }
      environment.output.write("\(session.subject.printable), \(plugins); .help shows what there is\n")
    }
    while let line = try next() {
      let text = String(line.trimming { " \t\r".contains($0) })
      guard !text.isEmpty else { continue }
      if text == ".quit" { break }
      do {
        try text.hasPrefix(".") ? call(text) : runLine(text)
      } catch {
        failed += 1
        environment.output.write(
          style.red("error: \(ErrorReport(error).lines.map(\.printable).joined(separator: "\n"))") + "\n")
      }
      for note in session.takeNotes() { environment.output.write(style.dim(note.printable) + "\n") }
      environment.output.flush()
    }
    return editor == nil && failed > 0 ? .no : .done
  }

  private var plugins: String {
    let names = session.catalog.plugins.map(\.name)
    return names.isEmpty ? "no rules" : names.joined(separator: ", ")
  }

  private func next() throws -> String? {
    environment.output.flush()
    if let editor { return editor.readLine(prompt: "> ") }
    return try environment.input.nextLine().map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Lines

  private func runLine(_ line: String) throws {
    let answer = try session.runLua(line)
    for value in answer.values {
      let json = try? JSONValue(parsing: value)
      environment.output.write((json.map { $0.prettyText() } ?? value.printable) + "\n")
    }
    for (kind, what) in answer.asked { environment.output.write(style.dim("\(kind) \(what.printable)") + "\n") }
  }

  private func call(_ line: String) throws {
    let words = line.split(separator: " ").map(String.init)
    let rest = line.split(separator: " ", maxSplits: 2).dropFirst(2).first ?? ""
    switch words[0] {
    case ".event":
      guard words.count > 1 else { throw UsageError("write .event TYPE [key=value …]") }
      let outcome = try session.send(words[1], try data(words, rest))
      environment.output.write(TraceTree(outcome, style: style).text(type: words[1]) + "\n")
      environment.output.write(OutcomeText(outcome, style: style).text(isDryRun: true))
    case ".query":
      guard words.count > 1 else { throw UsageError("write .query PLUGIN.QUERY [key=value …]") }
      environment.output.write(try session.query(words[1], try data(words, rest)).prettyText() + "\n")
    case ".clock":
      if words.count > 1 {
        guard words.count == 2, let duration = DurationText.parse(words[1], allowsZero: true) else {
          throw UsageError("write .clock, or how far to move it, as in .clock 1h30m or .clock 1d")
        }
        try session.advance(microseconds: duration)
      }
      environment.output.write(session.now.rfc3339 + "\n")
    case ".state":
      let states = try session.states()
      let shown = words.count > 1 ? states[words[1]] : .object(states)
      guard let shown else { throw UsageError("'\(words[1])' has no state of \(session.subject)") }
      environment.output.write(shown.prettyText() + "\n")
    case ".help":
      for command in ReplCompletion.commands {
        environment.output.write("  \(style.bold(command.name)) \(command.arguments)  \(command.about)\n")
      }
      environment.output.write("  anything else is Lua; 'state' has the plugins' states, '_' is the last value\n")
    default:
      throw UsageError("there is no command \(words[0]); .help lists them")
    }
  }

  /// The data of an event or the arguments of a query: JSON, or words `key=value`.
  private func data(_ words: [String], _ rest: Substring) throws -> JSONValue? {
    guard rest.hasPrefix("{") else { return try KeyValue.object(words.dropFirst(2)) }
    return try JSONValue(parsing: String(rest))
  }
}
