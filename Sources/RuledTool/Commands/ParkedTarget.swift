internal import RuledCore

/// Which parked events a command means: one by its id, or all of a plugin.
enum ParkedTarget {
  /// The option that names a plugin.
  static let options = [
    OptionSpec("plugin", short: "p", value: "PLUGIN", "All that is parked for this plugin.")
  ]

  /// The parameters that `arguments` make.
  static func params(_ arguments: Arguments) throws(ToolError) -> JSONValue {
    switch (arguments.operand(0), arguments.value("plugin")) {
    case (let id?, nil): return ["parked": .string(id)]
    case (nil, let plugin?): return ["plugin": .string(plugin)]
    case (nil, nil): throw ToolError("say which: an ID that 'rulectl parked' lists, or --plugin PLUGIN")
    case (_?, _?): throw ToolError("give an ID or --plugin, not both")
    }
  }
}
