/// Something that a person can ask the tool for.
///
/// A command takes all it reads and writes from its environment, so that a test runs it like a shell does. It throws
/// `ToolError` for what ends it early, and passes on what the client throws.
package protocol Command {
  /// What it is called and takes.
  static var spec: CommandSpec { get }

  /// Carries it out.
  ///
  /// - Parameters:
  ///   - arguments: The options and operands, checked against `spec`.
  ///   - environment: Where it reads and writes.
  /// - Returns: How the program ends.
  /// - Throws: What keeps it from being done.
  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode
}
