internal import RuledCore
internal import RuledReports

enum WatchCommand: Command {
  static let spec = CommandSpec(
    "watch", "Prints changes as they happen, until it is interrupted.",
    synopsis: ["[SUBJECT] [--prefix PREFIX] [--plugins PLUGIN,…]"], optional: 1,
    options: [
      OptionSpec("prefix", value: "PREFIX", "Watches subjects that begin with PREFIX."),
      OptionSpec("plugins", value: "PLUGIN,…", "Watches only changes by these plugins.", repeats: true),
      OptionSpec("after", value: "SEQUENCE", "Begins after this change; the last 10,000 changes can be had again."),
      OptionSpec("count", short: "c", value: "N", "Ends after N changes."),
      OptionSpec("json", "Prints each change as JSON, one a line."),
    ],
    examples: [
      .init("rulectl watch device:9f2c", "one subject"),
      .init("rulectl watch --prefix user: --plugins gamification --json", "for a script"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let after = try arguments.integer("after", in: 0...Int.max)
    var remaining = try arguments.integer("count", in: 1...Int.max) ?? Int.max
    let plugins = arguments.list("plugins")
    let client = try environment.connect()
    let watch = try client.call(
      "watch",
      .members([
        "subject": arguments.operand(0).map(JSONValue.string),
        "prefix": arguments.value("prefix").map(JSONValue.string),
        "plugins": plugins.isEmpty ? nil : .array(plugins.map(JSONValue.string)),
        "after": after.map { .integer(Int64($0)) },
      ]))
    if environment.showsProgress { environment.errors.write("watching; Ctrl-C ends it\n") }
    while remaining > 0 {
      guard case .notification(let method, let params) = try client.receive(),
        params.member("watch") == watch.member("watch")
      else { continue }
      if method == "changed" { remaining -= 1 }
      print(method, params, asJSON: arguments.has("json"), environment)
      try environment.output.finish()
    }
    return .done
  }

  private static func print(_ method: String, _ params: JSONValue, asJSON: Bool, _ environment: ToolEnvironment) {
    if method == "lagged" {
      let missed = Figures.count(params.count("missed"), "change")
      environment.errors.write("\(missed) missed: this watcher is too slow, or began too far back\n")
    } else if asJSON {
      environment.output.write(params.text + "\n")
    } else {
      let style = environment.style
      let event = params.member("event")?.member("type")?.brief ?? "-"
      let what = OutcomeText(params, style: style).line
      let plugins = params.elements("plugins").map(\.brief).joined(separator: ",")
      environment.output.write(
        style.dim("#\(params.word("sequence"))")
          + "  \(style.bold(params.word("subject").printable))"
          + "  v\(params.word("version"))  \(style.cyan(event.printable))"
          + "  \(what.isEmpty ? style.dim(plugins.isEmpty ? "-" : plugins.printable) : what)\n")
    }
  }
}
