internal import RuledCore
internal import RuledReports

enum HealthCommand: Command {
  static let spec = CommandSpec(
    "health", "Shows the daemon's health.",
    options: [.json],
    details:
      "The exit code is 0 when the daemon is ready, or a node of a cluster follows as it should, 1 when it is degraded, 2 when none answers.",
    examples: [.init("rulectl health || systemctl status ruled", "in a script")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("health", [:])
    let isReady = ["ready", "standby"].contains(result.member("status")?.stringValue)
    let style = environment.style
    environment.show(result, arguments) { $0.lines(style) { text($0, $1, isReady, style) } }
    return isReady ? .done : .no
  }

  private static func text(_ name: String, _ value: JSONValue, _ isReady: Bool, _ style: Style) -> String {
    switch name {
    case "status": isReady ? style.green(value.brief.printable) : style.red(value.brief.printable)
    case "uptime_s": value.doubleValue.map { Figures.duration(seconds: Int($0)) } ?? value.brief
    case "sinks": sinks(value)
    default: plain(value)
    }
  }

  /// A value without JSON's marks: an empty value is a dash, the elements of a list have commas between.
  private static func plain(_ value: JSONValue) -> String {
    if let elements = value.arrayValue {
      return elements.isEmpty ? "-" : elements.map(\.brief.printable).joined(separator: ", ")
    }
    guard let members = value.objectValue?.members else { return value.brief.printable }
    if members.isEmpty { return "-" }
    return members.map {
      "\($0.name.printable) \($0.value.arrayValue == nil ? $0.value.brief.printable : plain($0.value))"
    }
    .joined(separator: ", ")
  }

  /// The figures of each sink that are not 0, a sink on each line.
  private static func sinks(_ value: JSONValue) -> String {
    let lines = (value.objectValue?.members ?? []).map { sink in
      let figures = (sink.value.objectValue?.members ?? []).filter { $0.value.doubleValue.map { $0 != 0 } ?? false }
      let text = figures.map { "\($0.name.printable) \($0.value.brief.printable)" }.joined(separator: ", ")
      return "\n  \(sink.name.printable): \(text.isEmpty ? "-" : text)"
    }
    return lines.isEmpty ? "-" : "\(lines.count)\(lines.joined())"
  }
}
