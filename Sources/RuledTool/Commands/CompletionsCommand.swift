/// `rulectl completions`: a script that teaches a shell the commands.
///
/// The script is made from the table that the tool itself parses by, which the environment carries.
package enum CompletionsCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "completions", "Prints a script that completes commands and options in a shell.",
    synopsis: ["bash|zsh|fish"], required: ["SHELL"], completes: .words(["bash", "zsh", "fish"]),
    examples: [
      .init("source <(rulectl completions bash)", "in this shell"),
      .init("rulectl completions zsh > ~/.zfunc/_rulectl", "for good, in a folder of $fpath"),
      .init("rulectl completions fish > ~/.config/fish/completions/rulectl.fish", "for good"),
    ])

  /// Prints the script.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let shell = arguments.operands[0]
    let table = CompletionTable(program: environment.program, commands: environment.commands)
    switch shell {
    case "bash": environment.output.write(table.bash)
    case "zsh": environment.output.write(table.zsh)
    case "fish": environment.output.write(table.fish)
    default: throw ToolError("'\(shell)' is not a shell it knows; write bash, zsh or fish")
    }
    return .done
  }
}
