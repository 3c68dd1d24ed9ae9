internal import RuledCore

/// `rulectl drop`: gives parked events up.
package enum DropCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "drop", "Gives parked events up: the plugin will not see them.",
    synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: ParkedTarget.options + [.json],
    details: "This cannot be undone; 'rulectl parked --json' makes a copy first.",
    examples: [.init("rulectl drop --plugin old", "all that is parked for a plugin that is gone")])

  /// Drops them and says how many.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("drop", ParkedTarget.params(arguments))
    if arguments.has("json") {
      environment.print(json: result)
    } else {
      let dropped = Int(result.member("dropped")?.intValue ?? 0)
      environment.output.write(dropped == 0 ? "nothing is parked\n" : "\(Figures.count(dropped)) dropped\n")
    }
    return .done
  }
}
