internal import RuledCore

/// `rulectl forget`: erases all that is held on a subject.
package enum ForgetCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "forget", "Erases all that is held on a subject.",
    synopsis: ["SUBJECT"], required: ["SUBJECT"], options: [.json],
    details: "This cannot be undone; 'rulectl export SUBJECT' makes a copy first.",
    examples: [.init("rulectl forget user:7", "says how much it was")])

  /// Erases it and says how much it was.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let result = try environment.connect().call("forget", ["subject": .string(subject)])
    if arguments.has("json") {
      environment.print(json: result)
      return .done
    }
    let counts = (result.member("forgotten")?.objectValue?.members ?? []).filter { $0.value.intValue != 0 }
    let text = counts.map { "\($0.name.printable) \(Figures.count(Int($0.value.intValue ?? 0)))" }
    environment.output.write(
      text.isEmpty
        ? "nothing was held on \(subject.printable)\n"
        : "forgot \(subject.printable): \(text.joined(separator: ", "))\n")
    return .done
  }
}
