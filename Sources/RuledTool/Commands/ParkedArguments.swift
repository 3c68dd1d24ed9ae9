internal import RuledCore

/// The parked events that a command is for: one, by its id, or all of a plugin.
enum ParkedArguments {
  /// The command line of a command that takes such a selection.
  static func spec(
    _ name: String, _ about: String, options: [OptionSpec] = [], details: String, example: CommandSpec.Example
  ) -> CommandSpec {
    let plugin = OptionSpec("plugin", short: "p", value: "PLUGIN", "All that is parked for this plugin.")
    return CommandSpec(
      name, about, synopsis: ["ID", "--plugin PLUGIN"], optional: 1, options: [plugin] + options + [.json],
      details: details,
      examples: [example])
  }

  static func params(_ arguments: Arguments) throws(UsageError) -> JSONValue {
    switch (arguments.operand(0), arguments.value("plugin")) {
    case (let id?, nil): return ["parked": .string(id)]
    case (nil, let plugin?): return ["plugin": .string(plugin)]
    case (nil, nil): throw UsageError("say which: an ID that 'rulectl parked' lists, or --plugin PLUGIN")
    case (_?, _?): throw UsageError("give an ID or --plugin, not both")
    }
  }
}
