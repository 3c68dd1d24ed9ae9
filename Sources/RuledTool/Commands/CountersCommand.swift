internal import RuledCore

/// `rulectl counters`: what the rules count.
package enum CountersCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "counters", "Shows what the rules count.",
    synopsis: ["[PREFIX] [label=value …]"], optional: CommandSpec.any, options: [.json],
    details: "A counter is shown when its name begins with PREFIX and it has all the labels given.",
    examples: [
      .init("rulectl counters", "all of them"),
      .init("rulectl counters attribution. platform=ios", "some plugin's, with a label"),
    ])

  /// Shows them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var words = arguments.operands[...]
    var prefix: String?
    if let first = words.first, KeyValue(first) == nil { prefix = words.removeFirst() }
    let result = try environment.connect().call(
      "counters", .members(["prefix": prefix.map(JSONValue.string), "labels": try KeyValue.object(words)]))
    if arguments.has("json") {
      environment.print(json: result)
      return .done
    }
    let counters = result.arrayValue ?? []
    guard !counters.isEmpty else {
      environment.output.write("no counters\n")
      return .done
    }
    var table = Table(["NAME": .left, "VALUE": .right, "LABELS": .left])
    for counter in counters {
      let labels = counter.member("labels")?.objectValue?.members ?? []
      let value = counter.member("value")
      table.add([
        counter.member("name")?.brief ?? "?", value?.intValue.map { Figures.count(Int($0)) } ?? value?.brief ?? "-",
        labels.map { "\($0.name)=\($0.value.brief)" }.joined(separator: " "),
      ])
    }
    environment.output.write(table.text(environment.style))
    return .done
  }
}
