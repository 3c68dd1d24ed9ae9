/// What a shell has to know to complete a program's commands, taken from their table.
package struct CompletionTable {
  /// The program's name.
  let program: String
  /// Its commands.
  let commands: [CommandSpec]

  /// The completions of a program.
  package init(program: String, commands: [CommandSpec]) {
    self.program = program
    self.commands = commands
  }

  /// The options of a command, with those that every command takes.
  func options(of command: CommandSpec) -> [OptionSpec] { command.options + OptionSpec.everywhere }

  /// Text between single quotes as shells of the Bourne family and fish read it.
  static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
