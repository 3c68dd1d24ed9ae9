internal import RuledCore

enum ExportCommand: Command {
  static let spec = CommandSpec(
    "export", "Prints everything that is stored of a subject, as JSON.",
    synopsis: ["SUBJECT"], required: ["SUBJECT"], options: [OptionSpec("json", "Prints it on one line.")],
    details: "That is its state, timers, effects, parked and recorded events: what a person may ask for by law.",
    examples: [.init("rulectl export user:7 > user-7.json", "a copy to hand out")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let result = try environment.connect().call("export", ["subject": .string(subject)])
    environment.output.write((arguments.has("json") ? result.text : result.prettyText()) + "\n")
    return .done
  }
}
