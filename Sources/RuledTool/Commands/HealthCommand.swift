internal import RuledCore

/// `rulectl health`: whether the daemon is well.
package enum HealthCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "health", "Says whether the daemon is well.",
    options: [.json],
    details: "The exit code is 0 when it is ready, 1 when it is degraded, 2 when none answers.",
    examples: [.init("rulectl health || systemctl status ruled", "in a script")])

  /// Asks and prints the answer.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("health", [:])
    let isReady = result.member("status")?.stringValue == "ready"
    if arguments.has("json") {
      environment.print(json: result)
      return isReady ? .done : .no
    }
    let style = environment.style
    let members = result.objectValue?.members ?? []
    let width = members.map(\.name.count).max() ?? 0
    for (name, value) in members {
      let space = String(repeating: " ", count: width - name.count)
      environment.output.write("\(style.dim(name.printable))\(space)  \(text(name, value, isReady, style))\n")
    }
    return isReady ? .done : .no
  }

  private static func text(_ name: String, _ value: JSONValue, _ isReady: Bool, _ style: Style) -> String {
    switch name {
    case "status": isReady ? style.green(value.brief.printable) : style.red(value.brief.printable)
    case "uptime_s": value.doubleValue.map { Figures.duration(seconds: Int($0)) } ?? value.brief
    default: value.brief.printable
    }
  }
}
