internal import RuledCore

/// `rulectl clock`: moves a manual clock.
package enum ClockCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "clock", "Shows and moves the time of a daemon that runs with --clock manual.",
    synopsis: ["[--set RFC3339 | --advance DURATION]"],
    options: [
      OptionSpec("set", value: "RFC3339", "Sets the time; it may go back."),
      OptionSpec("advance", value: "DURATION", "Moves it on, by 90s, 15m, 2h or 14d; what falls due fires."),
      .json,
    ],
    examples: [
      .init("rulectl clock --advance 14d", "two weeks on"),
      .init("rulectl clock --set 2025-11-10T08:00:00Z", "to a moment"),
    ])

  /// Moves the clock and prints the time.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if arguments.has("set"), arguments.has("advance") { throw ToolError("give --set or --advance, not both") }
    let set = arguments.value("set").map(JSONValue.string)
    let advance = arguments.value("advance") ?? (set == nil ? "0s" : nil)
    let result: JSONValue
    do {
      result = try environment.connect().call(
        "clock", .members(["set": set, "advance": advance.map(JSONValue.string)]))
    } catch let error as DaemonError where error.code == "unknown_method" {
      throw ToolError("the daemon goes by the real time; start it with 'ruled --clock manual' to move its clock")
    }
    if arguments.has("json") {
      environment.print(json: result)
    } else {
      environment.output.write((result.member("now")?.brief.printable ?? "?") + "\n")
    }
    return .done
  }
}
