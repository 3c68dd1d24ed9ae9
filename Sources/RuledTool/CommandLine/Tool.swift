internal import Glibc
package import RuledCore
package import RuledReports
internal import RuledStore

/// A program made of commands: finds the one that is called, runs it, and reports its errors.
package struct Tool {
  /// The program's name, for help and before errors.
  package var name: String
  package var version: String
  /// What the program is for, in a sentence.
  package var about: String
  /// The commands, in the order in which help lists them.
  package var commands: [any Command.Type]
  package var examples: [CommandSpec.Example]

  package static var rulectl: Tool {
    Tool(
      name: "rulectl", version: Version.current, about: "Talks to ruled, the daemon that turns events into decisions.",
      commands: [
        EventCommand.self, QueryCommand.self, ExplainCommand.self, StateCommand.self, DiffCommand.self,
        SubjectsCommand.self, ExportCommand.self, ForgetCommand.self, WatchCommand.self, LogCommand.self,
        CaptureCommand.self, RulesCommand.self, ReloadCommand.self,
        RevisionsCommand.self, RollbackCommand.self, UnpinCommand.self, RolloutCommand.self, ShadowCommand.self,
        ParkedCommand.self, RetryCommand.self, DropCommand.self, EffectsCommand.self, CountersCommand.self,
        HealthCommand.self, ClusterCommand.self, ClockCommand.self, TopCommand.self, DashboardCommand.self,
        BacktestCommand.self,
        BenchCommand.self,
        NewCommand.self, CheckCommand.self, FormatCommand.self, TestCommand.self, MutateCommand.self, DocsCommand.self,
        ReplCommand.self, BackupCommand.self, CompletionsCommand.self, ManualCommand.self,
      ],
      examples: [
        .init("rulectl event app.launched device:9f2c platform=ios", "sends an event and shows the decisions"),
        .init("rulectl explain launched.json", "which rules would fire, and why not the others"),
        .init("rulectl watch --prefix user:", "changes as they happen"),
        .init("source <(rulectl completions bash)", "completes commands in this shell"),
      ])
  }

  /// Runs the command that `words`, the arguments after the program's name, call.
  package func run(_ words: [String], _ environment: ToolEnvironment) -> ExitCode {
    defer {
      environment.output.flush()
      environment.errors.flush()
    }
    let (lines, exit): ([String], ExitCode)
    do {
      return try dispatch(words, environment)
    } catch let error as UsageError {
      (lines, exit) = ([error.message], .failed)
    } catch let error as ToolError {
      (lines, exit) = ([error.message], error.exit)
    } catch let error as DaemonError {
      (lines, exit) = (error.lines, error.exit)
    } catch {
      (lines, exit) = (["\(error)"], .failed)
    }
    for line in lines { environment.errors.write("\(name): \(line.printable)\n") }
    return exit
  }

  private func dispatch(_ words: [String], _ environment: ToolEnvironment) throws -> ExitCode {
    let (leading, remaining) = try parseLeadingOptions(words[...])
    let help = HelpText(program: name, sharedOptions: OptionSpec.shared, highlight: environment.style.bold)
    guard let word = remaining.first else {
      if leading.has("help") { return showOverview(help, environment) }
      if leading.has("version") { return showVersion(environment) }
      throw UsageError("no command is given; '\(name) --help' lists them")
    }
    if word == "help" {
      guard let topic = remaining.dropFirst().first else { return showOverview(help, environment) }
      try showHelp(on: topic, help, environment)
      return .done
    }
    let command = try command(named: word)
    let spec = command.spec
    var arguments = try ArgumentParser.parse(
      remaining.dropFirst(), options: spec.options + OptionSpec.shared(besides: spec.options))
    arguments.values.merge(leading.values) { own, _ in own }
    if arguments.has("help") {
      environment.output.write(help.command(spec))
      return .done
    }
    if arguments.has("version"), arguments.value("version") == "" { return showVersion(environment) }
    try spec.checkOperands(of: arguments, program: name)
    var environment = environment
    environment.program = name
    environment.commands = commands.map { $0.spec }
    if let socket = arguments.value("socket") { environment.socket = socket }
    return try command.run(arguments, environment)
  }

  /// Shows the help on a command, or a page of the documentation.
  private func showHelp(on topic: String, _ help: HelpText, _ environment: ToolEnvironment) throws {
    if let command = commands.first(where: { $0.spec.name == topic }) {
      return environment.output.write(help.command(command.spec))
    }
    let pages = HelpPages.besideProgram()
    if let page = try pages.text(topic, environment.style) { return environment.output.write(page) }
    let topics = pages.topics
    let all =
      "'\(name) --help' lists the commands" + (topics.isEmpty ? "" : "; pages: \(topics.joined(separator: ", "))")
    let hint = NearestName.hint(topic, in: commands.map { $0.spec.name } + topics, otherwise: all)
    throw UsageError("there is no help on '\(topic)'\(hint)")
  }

  private func parseLeadingOptions(
    _ words: ArraySlice<String>
  ) throws(UsageError) -> (arguments: Arguments, remaining: ArraySlice<String>) {
    do throws(UsageError) { return try ArgumentParser.parseLeading(words, options: OptionSpec.shared) } catch {
      let known = Set(commands.flatMap { $0.spec.options.map { "--\($0.name)" } })
      let names = words.prefix { $0.hasPrefix("-") }.map { String($0.prefix { $0 != "=" }) }
      guard let misplaced = names.first(where: known.contains) else { throw error }
      throw UsageError("\(misplaced) belongs to a command; write it after the command's name")
    }
  }

  private func command(named word: String) throws(UsageError) -> any Command.Type {
    if let command = commands.first(where: { $0.spec.name == word }) { return command }
    let names = commands.map { $0.spec.name }
    throw UsageError(
      "unknown command '\(word)'" + NearestName.hint(word, in: names, otherwise: "'\(name) --help' lists them"))
  }

  private func showOverview(_ help: HelpText, _ environment: ToolEnvironment) -> ExitCode {
    environment.output.write(help.overview(about: about, commands: commands.map { $0.spec }, examples: examples))
    return .done
  }

  private func showVersion(_ environment: ToolEnvironment) -> ExitCode {
    environment.output.write("\(name) \(version)\n")
    return .done
  }
}

/// A command of the tool.
///
/// It reads and writes only through its environment, so that a test runs it like a shell does.
package protocol Command {
  static var spec: CommandSpec { get }

  /// Executes the command.
  ///
  /// - Parameters:
  ///   - arguments: The options and operands, checked against `spec`.
  ///   - environment: Where the command reads and writes.
  /// - Returns: The program's exit code.
  /// - Throws: `UsageError` for arguments that make no sense, `ToolError` for what cannot be done, `DaemonError` for
  ///   what the daemon refused.
  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode
}

package enum ExitCode: Int32, Sendable {
  /// The command did what it was asked.
  case done = 0
  /// The answer is no: nothing is stored for the subject, a test failed.
  case no = 1
  /// Wrong use, or it cannot be done: an unknown option, no daemon, no permission.
  case failed = 2
}

/// Why a command ended early.
package struct ToolError: Error, Sendable, Equatable {
  /// What is wrong and what to do about it, in one line without the program's name.
  package var message: String
  package var exit: ExitCode

  /// An error that ends the program with `exit`.
  package init(_ message: String, exit: ExitCode = .failed) {
    self.message = message
    self.exit = exit
  }
}

extension OptionSpec {
  /// `--json`, which most commands take.
  package static let json = OptionSpec("json", "Prints the daemon's answer as JSON.")
  /// `--socket`, which every command takes.
  package static let socket = OptionSpec(
    "socket", value: "PATH", "The daemon's socket; by default $RULED_SOCKET or \(ToolEnvironment.defaultSocket).",
    completes: .files)
  /// The options that may be written before or after any command.
  package static let shared = [socket, help, version]

  /// The shared options of a command with these options of its own, which come before shared ones of the same name.
  package static func shared(besides own: [OptionSpec]) -> [OptionSpec] {
    shared.filter { shared in !own.contains { $0.name == shared.name } }
  }
}

/// What a command reads and writes besides its arguments.
package struct ToolEnvironment {
  /// The daemon's socket unless an option or a variable names another one.
  package static let defaultSocket = "/run/ruled/ruled.sock"

  /// Standard input.
  package var input: Input
  /// Standard output.
  package var output: Output
  /// Standard error.
  package var errors: Output
  package var variables: [String: String]
  package var socket: String
  /// The name of the program that runs.
  package var program = "rulectl"
  /// The commands of the program that runs.
  package var commands: [CommandSpec] = []

  /// An environment; the socket is the one that the variable `RULED_SOCKET` names, or the default.
  package init(input: Input, output: Output, errors: Output, variables: [String: String]) {
    self.input = input
    self.output = output
    self.errors = errors
    self.variables = variables
    let named = variables["RULED_SOCKET"] ?? ""
    socket = named.isEmpty ? Self.defaultSocket : named
  }

  /// The environment of this process.
  package static func process() -> ToolEnvironment {
    var variables: [String: String] = [:]
    for name in ["RULED_SOCKET", "HOME", "XDG_STATE_HOME", "NO_COLOR", "TERM", "DISPLAY", "WAYLAND_DISPLAY"] {
      if let value = getenv(name) { variables[name] = String(cString: value) }
    }
    return ToolEnvironment(
      input: Input(descriptor: 0), output: Output(descriptor: 1), errors: Output(descriptor: 2), variables: variables)
  }

  /// The style of standard output: coloured on a terminal, unless `NO_COLOR` is set or the terminal is dumb.
  package var style: Style { Style(isColoured: output.isTerminal && allowsEscapes) }

  /// Whether progress is shown on standard error: as for `style`.
  package var showsProgress: Bool { errors.isTerminal && allowsEscapes }

  private var allowsEscapes: Bool { (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb" }

  package func connect() throws -> Client { try Client(path: socket) }

  /// Opens a file that an argument names; `-` is standard input.
  package func open(_ path: String) throws(ToolError) -> Input { path == "-" ? input : try Input(path: path) }

  /// Prints an answer of the daemon: with `--json` as it is, otherwise as `text` puts it.
  func show(_ answer: JSONValue, _ arguments: Arguments, as text: (JSONValue) -> String) {
    if arguments.has("json") { print(json: answer) } else { output.write(text(answer)) }
  }

  /// Asks a person on a terminal whether to do what can't be undone; true without a terminal, or with `--yes`.
  func confirms(_ question: String, _ arguments: Arguments) throws(ToolError) -> Bool {
    guard !arguments.has("yes"), input.isTerminal else { return true }
    errors.write("\(question.printable) [y/N] ")
    errors.flush()
    let answer = try input.nextLine().map { String(decoding: $0, as: UTF8.self).lowercased() }
    return answer == "y" || answer == "yes"
  }

  /// Prints JSON: indented on a terminal, on one line elsewhere.
  package func print(json: JSONValue) {
    output.write((output.isTerminal ? json.prettyText() : json.text) + "\n")
  }
}

/// The pages of `docs/`, which `rulectl help TOPIC` shows: installed beside the program, or those of the source tree that it was built in.
struct HelpPages {
  private static let suffix = ".md"

  private let folder: String?

  /// The pages beside the running program.
  static func besideProgram() -> HelpPages {
    HelpPages(folder: ProgramFolder.find(installed: "share/doc/ruled/docs", inSources: "docs", with: "rules.md"))
  }

  /// The pages in a folder; none without one.
  init(folder: String?) { self.folder = folder }

  /// The names of the pages, without `.md`, in order.
  var topics: [String] {
    guard let folder, let names = try? Folder.names(folder) else { return [] }
    return names.filter { $0.hasSuffix(Self.suffix) }.map { String($0.dropLast(Self.suffix.count)) }.sorted()
  }

  /// The page that a topic names, with or without `.md`, with its headings in bold; nil if there is none.
  func text(_ topic: String, _ style: Style) throws(ToolError) -> String? {
    let name = topic.hasSuffix(Self.suffix) ? String(topic.dropLast(Self.suffix.count)) : topic
    guard let folder, topics.contains(name) else { return nil }
    let bytes = try Input(path: "\(folder)/\(name)\(Self.suffix)").readAll()
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    var isCode = false
    return lines.map { line in
      if line.hasPrefix("```") { isCode.toggle() }
      return line.hasPrefix("#") && !isCode ? style.bold(String(line)) : String(line)
    }.joined(separator: "\n")
  }
}
