/// A program made of commands: finds the one that is asked for, runs it, and turns what it throws into a line and a code.
package struct Tool {
  /// The program's name, as it stands in help and before errors.
  package var name: String
  /// What `--version` says.
  package var version: String
  /// What the program is for, in a sentence.
  package var about: String
  /// What it can do, in the order in which help lists it.
  package var commands: [any Command.Type]
  /// Invocations that help shows.
  package var examples: [CommandSpec.Example]

  /// A program with its commands.
  package init(
    name: String, version: String, about: String, commands: [any Command.Type], examples: [CommandSpec.Example] = []
  ) {
    self.name = name
    self.version = version
    self.about = about
    self.commands = commands
    self.examples = examples
  }

  /// Carries out what `words`, the arguments after the program's name, ask for.
  package func run(_ words: [String], _ environment: ToolEnvironment) -> ExitCode {
    let exit: ExitCode
    do {
      exit = try dispatch(words, environment)
    } catch let error as ToolError {
      environment.errors.write("\(name): \(error.message.printable)\n")
      exit = error.exit
    } catch let error as DaemonError {
      for line in error.lines { environment.errors.write("\(name): \(line.printable)\n") }
      exit = error.exit
    } catch {
      environment.errors.write("\(name): \(String(describing: error).printable)\n")
      exit = .failed
    }
    environment.output.flush()
    environment.errors.flush()
    return exit
  }

  private func dispatch(_ words: [String], _ environment: ToolEnvironment) throws -> ExitCode {
    let (leading, rest) = try leadingOptions(words[...])
    let help = HelpText(program: name, style: environment.style)
    guard let word = rest.first else {
      if leading.has("help") { return showHelp(help, environment) }
      if leading.has("version") { return showVersion(environment) }
      throw ToolError("no command is given; '\(name) --help' lists them")
    }
    if word == "help" {
      guard let topic = rest.dropFirst().first else { return showHelp(help, environment) }
      environment.output.write(help.command(try command(topic).spec))
      return .done
    }
    let command = try command(word)
    let spec = command.spec
    var arguments = try ArgumentParser.parse(rest.dropFirst(), options: spec.options + OptionSpec.everywhere)
    for (option, values) in leading.values where arguments.values[option] == nil { arguments.values[option] = values }
    if arguments.has("help") {
      environment.output.write(help.command(spec))
      return .done
    }
    if arguments.has("version") { return showVersion(environment) }
    try checkOperands(arguments, spec)
    var environment = environment
    environment.program = name
    environment.commands = commands.map { $0.spec }
    if let socket = arguments.value("socket") { environment.socket = socket }
    return try command.run(arguments, environment)
  }

  private func leadingOptions(_ words: ArraySlice<String>) throws(ToolError) -> (Arguments, rest: ArraySlice<String>) {
    do {
      return try ArgumentParser.parseLeading(words, options: OptionSpec.everywhere)
    } catch {
      let known = Set(commands.flatMap { $0.spec.options.map { "--\($0.name)" } })
      let stray = words.prefix { $0.hasPrefix("-") }.map { String($0.prefix { $0 != "=" }) }.first(
        where: known.contains)
      guard let stray else { throw error }
      throw ToolError("\(stray) belongs to a command; write it after the command's name")
    }
  }

  private func command(_ word: String) throws(ToolError) -> any Command.Type {
    if let command = commands.first(where: { $0.spec.name == word }) { return command }
    if let meant = Suggestion.nearest(to: word, among: commands.map { $0.spec.name }) {
      throw ToolError("unknown command '\(word)'; did you mean '\(meant)'?")
    }
    throw ToolError("unknown command '\(word)'; '\(name) --help' lists them")
  }

  private func checkOperands(_ arguments: Arguments, _ spec: CommandSpec) throws(ToolError) {
    let given = arguments.operands.count
    if given < spec.required.count {
      throw ToolError("\(spec.required[given]) is missing; write '\(usage(spec))'")
    }
    if given - spec.required.count > spec.optional {
      let extra = arguments.operands[spec.required.count + spec.optional]
      throw ToolError("unexpected argument '\(extra)'; write '\(usage(spec))'")
    }
  }

  private func usage(_ spec: CommandSpec) -> String {
    let line = spec.synopsis.first ?? ""
    return "\(name) \(spec.name)\(line.isEmpty ? "" : " " + line)"
  }

  private func showHelp(_ help: HelpText, _ environment: ToolEnvironment) -> ExitCode {
    environment.output.write(help.tool(about: about, commands: commands.map { $0.spec }, examples: examples))
    return .done
  }

  private func showVersion(_ environment: ToolEnvironment) -> ExitCode {
    environment.output.write("\(name) \(version)\n")
    return .done
  }
}
