internal import RuledCore

/// `rulectl state`: what plugins hold on a subject.
package enum StateCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "state", "Shows what the plugins hold on a subject.",
    synopsis: ["SUBJECT [--plugin PLUGIN]"], required: ["SUBJECT"],
    options: [OptionSpec("plugin", short: "p", value: "PLUGIN", "Shows this plugin's state alone."), .json],
    examples: [
      .init("rulectl state device:9f2c", "all plugins"),
      .init("rulectl state device:9f2c --plugin attribution --json", "one, for a script"),
    ])

  /// Reads the state and prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let plugin = arguments.value("plugin")
    let result = try environment.connect().call(
      "state", .members(["subject": .string(subject), "plugin": plugin.map(JSONValue.string)]))
    if arguments.has("json") {
      environment.print(json: result)
      return .done
    }
    let style = environment.style
    let version = result.member("version")?.brief ?? "?"
    environment.output.write("\(style.bold(subject.printable))  version \(version)\n")
    let plugins = result.member("plugins")?.objectValue?.members ?? []
    if plugins.isEmpty { environment.output.write("no plugin holds state on it\n") }
    for (name, state) in plugins {
      environment.output.write("\n\(style.cyan(name.printable))\n\(state.prettyText())\n")
    }
    return .done
  }
}
