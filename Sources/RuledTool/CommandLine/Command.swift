internal import RuledCore

/// A command of the tool.
///
/// It reads and writes only through its environment, so that a test runs it like a shell does.
protocol Command {
  static var spec: CommandSpec { get }

  /// Executes the command with arguments that were checked against `spec`.
  ///
  /// - Throws: `UsageError` for arguments that make no sense, `ToolError` for failures of the tool, `DaemonError` for refusals by the daemon.
  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode
}

extension OptionSpec {
  static let json = OptionSpec("json", "Prints the daemon's answer as JSON.")
  static let socket = OptionSpec(
    "socket", value: "PATH", "The daemon's socket; by default $RULED_SOCKET or \(ToolEnvironment.defaultSocket).",
    completes: .files)
  /// The options that may be written before or after any command.
  static let shared = [socket, help, version]

  /// The shared options of a command with these options of its own, which come before shared ones of the same name.
  static func shared(besides own: [OptionSpec]) -> [OptionSpec] {
    shared.filter { shared in !own.contains { $0.name == shared.name } }
  }
}
