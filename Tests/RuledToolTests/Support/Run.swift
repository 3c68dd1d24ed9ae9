import RuledCore

@testable import RuledTool

/// One run of `rulectl` in this process, with its exit code and output.
struct Run {
  let exit: ExitCode
  /// What it wrote to standard output.
  let output: String
  /// What it wrote to standard error.
  let errors: String

  /// Runs `rulectl` with these words.
  ///
  /// - Parameters:
  ///   - words: The arguments.
  ///   - daemon: The daemon that `RULED_SOCKET` names, if any.
  ///   - input: Standard input.
  ///   - terminal: Whether input, output and errors are a terminal.
  ///   - variables: Further variables.
  ///   - more: Commands to add to those of `rulectl`.
  init(
    _ words: String..., on daemon: FakeDaemon? = nil, input: String = "", terminal: Bool = false,
    variables: [String: String] = [:], more: [any Command.Type] = []
  ) {
    self.init(words: words, on: daemon, input: input, terminal: terminal, variables: variables, more: more)
  }

  /// Runs `rulectl` with an array of words.
  init(
    words: [String], on daemon: FakeDaemon? = nil, input: String = "", terminal: Bool = false,
    variables: [String: String] = [:], more: [any Command.Type] = []
  ) {
    var variables = variables
    variables["RULED_SOCKET"] = variables["RULED_SOCKET"] ?? daemon?.path ?? "/nonexistent/ruled.sock"
    let environment = ToolEnvironment(
      input: Input(text: input, isTerminal: terminal), output: Output(isTerminal: terminal),
      errors: Output(isTerminal: terminal),
      variables: variables)
    var tool = Tool()
    tool.version = "1.2.3"
    tool.commands += more
    exit = tool.run(words, environment)
    output = environment.output.text
    errors = environment.errors.text
  }
}
