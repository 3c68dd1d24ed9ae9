internal import RuledCore

enum StateCommand: Command {
  static let spec = CommandSpec(
    "state", "Shows the plugins' states of a subject, now or in the past.",
    synopsis: ["SUBJECT [--plugin PLUGIN] [--at TIME | --version N]"], required: ["SUBJECT"],
    options: [
      OptionSpec("plugin", short: "p", value: "PLUGIN", "Shows only this plugin's state."),
      OptionSpec("at", value: "TIME", "The states at that time: RFC 3339, or how long ago, such as 2h."),
      OptionSpec("version", value: "N", "The states after the event that made version N."), .json,
    ],
    details: "A state of the past is made from the journal, with the rules of then.",
    examples: [
      .init("rulectl state device:9f2c", "all plugins"),
      .init("rulectl state device:9f2c --plugin attribution --json", "one, for a script"),
      .init("rulectl state device:9f2c --at 2h", "as it was two hours ago"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let version = try arguments.integer("version", in: 1...Int.max)
    if version != nil, arguments.has("at") { throw UsageError("give --at or --version, not both") }
    var params = PagedList.params(["plugin", "at"], arguments)
    params["subject"] = .string(subject)
    params["version"] = version.map { .integer(Int64($0)) }
    return try environment.answer("state", .object(params), arguments) { result in
      let style = environment.style
      let version = result.word("version")
      let plugins = result.member("plugins")?.objectValue?.members ?? []
      let revision = result.word("revision")
      let past = result.member("at").map { "  at \($0.brief)  revision \(revision)" } ?? ""
      var text = "\(style.bold(subject.printable))  version \(version)\(past)\n"
      if plugins.isEmpty { text += "no plugin has state for it\n" }
      for (name, state) in plugins { text += "\n\(style.cyan(name.printable))\n\(state.prettyText())\n" }
      return text
    }
  }
}
