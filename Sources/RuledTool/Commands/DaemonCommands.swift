package import RuledCore

/// `rulectl health`: the daemon's health.
package enum HealthCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "health", "Shows the daemon's health.",
    options: [.json],
    details: "The exit code is 0 when the daemon is ready, 1 when it is degraded, 2 when none answers.",
    examples: [.init("rulectl health || systemctl status ruled", "in a script")])

  /// Asks for the health and prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("health", [:])
    let isReady = result.member("status")?.stringValue == "ready"
    environment.show(result, arguments) { text($0, isReady, environment.style) }
    return isReady ? .done : .no
  }

  private static func text(_ result: JSONValue, _ isReady: Bool, _ style: Style) -> String {
    let members = result.objectValue?.members ?? []
    let width = members.map(\.name.count).max() ?? 0
    return members.reduce(into: "") { lines, member in
      let space = String(repeating: " ", count: width - member.name.count)
      lines += "\(style.dim(member.name.printable))\(space)  \(text(member.name, member.value, isReady, style))\n"
    }
  }

  private static func text(_ name: String, _ value: JSONValue, _ isReady: Bool, _ style: Style) -> String {
    switch name {
    case "status": isReady ? style.green(value.brief.printable) : style.red(value.brief.printable)
    case "uptime_s": value.doubleValue.map { Figures.duration(seconds: Int($0)) } ?? value.brief
    case "sinks": sinks(value)
    default: plain(value)
    }
  }

  /// A value without JSON's marks: what is empty is a dash, the elements of a list have commas between.
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

/// `rulectl clock`: shows and moves a manual clock.
package enum ClockCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
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

  /// Moves the clock and prints the time.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if arguments.has("set"), arguments.has("advance") { throw UsageError("give --set or --advance, not both") }
    let set = arguments.value("set").map(JSONValue.string)
    let advance = arguments.value("advance") ?? (set == nil ? "0s" : nil)
    let result: JSONValue
    do {
      result = try environment.connect().call(
        "clock", .members(["set": set, "advance": advance.map(JSONValue.string)]))
    } catch let error as DaemonError where error.code == "unknown_method" {
      throw ToolError("the daemon uses the host's clock; start it with 'ruled --clock manual' to move its clock")
    }
    environment.show(result, arguments) { ($0.member("now")?.brief.printable ?? "?") + "\n" }
    return .done
  }
}

/// `rulectl counters`: the counters of the rules.
package enum CountersCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "counters", "Shows the counters of the rules.",
    synopsis: ["[PREFIX] [label=value …]"], optional: CommandSpec.any, options: [.json],
    details: "Shows the counters whose names begin with PREFIX and that have all the labels given.",
    examples: [
      .init("rulectl counters", "all counters"),
      .init("rulectl counters attribution. platform=ios", "those of one plugin with a label"),
    ])

  /// Asks for the counters and prints them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var words = arguments.operands[...]
    var prefix: String?
    if let first = words.first, KeyValue(first) == nil { prefix = words.removeFirst() }
    let result = try environment.connect().call(
      "counters", .members(["prefix": prefix.map(JSONValue.string), "labels": try KeyValue.object(words)]))
    environment.show(result, arguments) { text($0.arrayValue ?? [], environment.style) }
    return .done
  }

  private static func text(_ counters: [JSONValue], _ style: Style) -> String {
    if counters.isEmpty { return "no counters\n" }
    var table = Table(["NAME": .left, "VALUE": .right, "LABELS": .left])
    for counter in counters {
      let labels = counter.member("labels")?.objectValue?.members ?? []
      let value = counter.member("value")
      table.add([
        counter.member("name")?.brief ?? "?", value?.intValue.map { Figures.count(Int($0)) } ?? value?.brief ?? "-",
        labels.map { "\($0.name)=\($0.value.brief)" }.joined(separator: " "),
      ])
    }
    return table.text(style)
  }
}
