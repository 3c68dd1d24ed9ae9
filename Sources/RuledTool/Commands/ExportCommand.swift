internal import RuledCore

/// `rulectl export`: all that is held on a subject.
package enum ExportCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "export", "Prints all that is held on a subject, as JSON.",
    synopsis: ["SUBJECT"], required: ["SUBJECT"], options: [OptionSpec("json", "Prints it on one line.")],
    details: "State, timers, effects, parked events and recorded events, as a person may ask for.",
    examples: [.init("rulectl export user:7 > user-7.json", "a copy to hand out")])

  /// Prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let result = try environment.connect().call("export", ["subject": .string(subject)])
    environment.output.write((arguments.has("json") ? result.text : result.prettyText()) + "\n")
    return .done
  }
}
