internal import RuledCore

/// rulectl: finds the command that is called, runs it, and reports its errors.
package struct Tool {
  private static let name = ToolEnvironment.program

  var version = Version.current
  /// The commands, in the order in which help lists them.
  var commands: [any Command.Type] = [
    EventCommand.self, QueryCommand.self, ExplainCommand.self, StateCommand.self, DiffCommand.self,
    SubjectsCommand.self, ExportCommand.self, ForgetCommand.self, WatchCommand.self, LogCommand.self,
    CaptureCommand.self, RulesCommand.self, ReloadCommand.self, RevisionsCommand.self, RollbackCommand.self,
    UnpinCommand.self, RolloutCommand.self, ShadowCommand.self, ParkedCommand.self, RetryCommand.self,
    DropCommand.self, EffectsCommand.self, CountersCommand.self, TopicsCommand.self, HealthCommand.self,
    ClusterCommand.self, ClockCommand.self, TopCommand.self, DashboardCommand.self, BacktestCommand.self,
    BenchCommand.self, NewCommand.self, CheckCommand.self, MigrateCommand.self, FormatCommand.self,
    TestCommand.self, MutateCommand.self, DocsCommand.self, ReplCommand.self, BackupCommand.self,
    CompletionsCommand.self, ManualCommand.self,
  ]

  package init() {}

  /// Runs the command that `words`, the arguments after the program's name, call.
  package func run(_ words: [String], _ environment: ToolEnvironment) -> ExitCode {
    defer { environment.errors.flush() }
    do {
      let code = try runCommand(words, environment)
      try environment.output.finish()
      return code
    } catch {
      environment.output.flush()
      return environment.report(error)
    }
  }

  private func runCommand(_ words: [String], _ environment: ToolEnvironment) throws -> ExitCode {
    let (leading, remaining) = try parseLeadingOptions(words[...])
    let help = HelpText(program: Self.name, sharedOptions: OptionSpec.shared, highlight: environment.style.bold)
    guard let word = remaining.first else {
      if leading.has("help") { return showOverview(help, environment) }
      if leading.has("version") { return showVersion(environment) }
      throw UsageError("no command is given; '\(Self.name) --help' lists them")
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
    try spec.checkOperands(of: arguments, program: Self.name)
    var environment = environment
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
      "'\(Self.name) --help' lists the commands" + (topics.isEmpty ? "" : "; pages: \(topics.joined(separator: ", "))")
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
      "unknown command '\(word)'" + NearestName.hint(word, in: names, otherwise: "'\(Self.name) --help' lists them"))
  }

  private func showOverview(_ help: HelpText, _ environment: ToolEnvironment) -> ExitCode {
    let overview = help.overview(
      about: "Talks to ruled, the daemon that turns events into decisions.", commands: commands.map { $0.spec },
      examples: [
        .init("rulectl event app.launched device:9f2c platform=ios", "sends an event and shows the decisions"),
        .init("rulectl explain launched.json", "which rules would fire, and why not the others"),
        .init("rulectl watch --prefix user:", "changes as they happen"),
        .init("source <(rulectl completions bash)", "completes commands in this shell"),
      ])
    environment.output.write(overview)
    return .done
  }

  private func showVersion(_ environment: ToolEnvironment) -> ExitCode {
    environment.output.write("\(Self.name) \(version)\n")
    return .done
  }
}
