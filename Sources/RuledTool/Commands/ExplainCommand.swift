internal import RuledCore
internal import RuledJSON

/// `rulectl explain`: which rules an event would fire, and why not the others.
package enum ExplainCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "explain", "Draws which rules an event would fire and why not the others; keeps nothing.",
    synopsis: ["EVENT.json|-"], required: ["EVENT.json"], completes: .files, options: [.json],
    details: "The file holds one CloudEvent; '-' is standard input. The event is sent as a dry run.",
    examples: [
      .init("rulectl explain launched.json", "a tree of plugins and rules"),
      .init("rulectl explain - < launched.json", "the same from input"),
    ])

  /// Sends the event as a dry run and draws its trace.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let file = arguments.operands[0]
    let bytes = try environment.open(file).rest()
    let parsed = bytes.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in try JSONValue(parsing: bytes) }
    }
    guard case .success(.object(var event)) = parsed else {
      guard case .failure(let error) = parsed else {
        throw ToolError("\(file) holds no event: an event is a JSON object with 'type' and 'subject'")
      }
      throw ToolError("\(file) is not JSON: \(error)")
    }
    event["dryrun"] = true
    event["explain"] = true
    let outcome = try environment.connect().call("event", .object(event))
    if arguments.has("json") {
      environment.print(json: outcome)
      return .done
    }
    let style = environment.style
    environment.output.write(TraceTree(outcome, style: style).text(type: event["type"]?.brief ?? "event") + "\n")
    environment.output.write(OutcomeText(outcome, style: style).text(isDryRun: true))
    return .done
  }
}
