internal import RuledCore

enum ClockCommand: Command {
  static let spec = CommandSpec(
    "clock", "Shows and moves the clock of a daemon that runs with --clock manual.",
    synopsis: ["[--set RFC3339 | --advance DURATION]"],
    options: [
      OptionSpec("set", value: "RFC3339", "Sets the time, also to an earlier one."),
      OptionSpec(
        "advance", value: "DURATION", "Advances the time, by 90s, 15m, 2h or 14d; timers that become due fire."),
      .json,
    ],
    examples: [
      .init("rulectl clock --advance 14d", "by two weeks"),
      .init("rulectl clock --set 2025-11-10T08:00:00Z", "to a point in time"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if arguments.has("set"), arguments.has("advance") { throw UsageError("give --set or --advance, not both") }
    let set = arguments.value("set").map(JSONValue.string)
    let advance = arguments.value("advance") ?? (set == nil ? "0s" : nil)
    let params = JSONValue.members(["set": set, "advance": advance.map(JSONValue.string)])
    guard let result = try environment.connect().call("clock", params, unless: [.unknownMethod]) else {
      throw ToolError("the daemon uses the host's clock; start it with 'ruled --clock manual' to move its clock")
    }
    return environment.show(result, arguments) { $0.word("now").printable + "\n" }
  }
}
