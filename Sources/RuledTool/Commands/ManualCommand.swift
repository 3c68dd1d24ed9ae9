internal import RuledCore

enum ManualCommand: Command {
  static let spec = CommandSpec(
    "manual", "Prints the manual page rulectl(1), for packages that install it.",
    examples: [.init("rulectl manual | man -l -", "reads it")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    environment.output.write(ManualPage(commands: environment.commands).text)
    return .done
  }
}

/// Writes the manual page of a program made of commands, in the language of man(7).
private struct ManualPage {
  let program = ToolEnvironment.program
  let commands: [CommandSpec]

  var text: String {
    """
    .TH \(program.uppercased()) 1 "\(Version.date)" "ruled \(Version.current)" "User commands"
    .SH NAME
    \(program) \\- talks to ruled, the daemon that turns events into decisions
    .SH SYNOPSIS
    .B \(program)
    .RB [ \\-\\-socket
    .IR PATH ]
    .I COMMAND
    .RI [ ARGUMENT \\ ...]
    .SH DESCRIPTION
    .B \(program)
    does everything that a person does with
    .BR ruled (8):
    it sends events, shows what the daemon knows, and checks and tests rules.
    A value in \\fIkey\\fR=\\fIvalue\\fR is JSON if it parses as JSON, otherwise a string.
    Listings take
    .BR \\-\\-json .
    .SH OPTIONS
    These are taken by every command.
    \(OptionSpec.shared.map(Self.option).joined())
    .SH COMMANDS
    \(commands.map(section).joined())
    .SH EXIT STATUS
    .TP
    .B 0
    Done.
    .TP
    .B 1
    The answer is no: a test failed, nothing was found, the rules do not load.
    .TP
    .B 2
    Used wrongly, or not possible: an unknown option, no daemon, no permission.
    .SH ENVIRONMENT
    .TP
    .B RULED_SOCKET
    The daemon's socket, if
    .B \\-\\-socket
    is not given.
    .TP
    .B NO_COLOR
    If set, nothing is coloured.
    .SH FILES
    .TP
    .I \(Self.escaped(ToolEnvironment.defaultSocket))
    The daemon's socket by default.
    .SH SEE ALSO
    .BR ruled (8),
    .BR ruled.conf (5),
    .BR ruled\\-rules (7)

    """
  }

  private func section(_ command: CommandSpec) -> String {
    var text = ".SS \(Self.escaped(command.name))\n"
    for usage in command.usage(of: program) { text += ".B \(Self.quoted(usage))\n.br\n" }
    text += ".PP\n\(Self.escaped(command.summary))\n"
    for line in command.details.split(separator: "\n") { text += "\(Self.escaped(String(line)))\n" }
    text += command.options.map(Self.option).joined()
    for example in command.examples {
      text += ".TP\nExample, \(Self.escaped(example.about)):\n.B \(Self.quoted(example.line))\n"
    }
    return text
  }

  private static func option(_ option: OptionSpec) -> String {
    let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
    let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
    return ".TP\n\(short)\\fB\\-\\-\(escaped(option.name))\\fR\(value)\n\(escaped(option.summary))\n"
  }

  /// Text that begins a line of the page and shows as it is.
  private static func escaped(_ text: String) -> String {
    let plain = text.map { character -> String in
      switch character {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "…": "..."
      default: String(character)
      }
    }.joined()
    return plain.hasPrefix(".") ? "\\&" + plain : plain
  }

  /// Text as one argument of a request.
  private static func quoted(_ text: String) -> String {
    "\"" + escaped(text).split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\(dq") + "\""
  }
}
