internal import RuledCore

/// `rulectl event`: sends one event, or a file of them.
package enum EventCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "event", "Sends an event and shows what the rules decided.",
    synopsis: ["TYPE SUBJECT [key=value …] [OPTION …]", "--file FILE|- [OPTION …]"],
    optional: CommandSpec.any,
    options: [
      OptionSpec("data", short: "d", value: "JSON", "The event's data; key=value sets members of it."),
      OptionSpec("id", value: "ID", "The event's id; sending it again changes nothing. One is made by default."),
      OptionSpec("source", value: "SOURCE", "Where the event comes from."),
      OptionSpec("time", value: "RFC3339", "When it happened; now by default."),
      OptionSpec("file", short: "f", value: "FILE", "Sends each line's CloudEvent; '-' is input.", completes: .files),
      OptionSpec("window", value: "N", "With --file, how many events may be on their way; 256 by default."),
      OptionSpec("show", "With --file, prints what came of each event."),
      OptionSpec("dry-run", short: "n", "Evaluates and answers, and keeps nothing."),
      OptionSpec("explain", "Draws which rules fired and why the others did not."),
      OptionSpec("wait", "Waits for the messages that the event sends to other subjects, too."),
      .json,
    ],
    details: """
      A value is JSON if it parses, else a string: count=3 is a number, name=Ada and zip='"01234"' are strings.
      With --file, events of one subject are applied in the file's order; a line that is refused is reported with its
      number, the others go on, and the exit code is 1.
      """,
    examples: [
      .init("rulectl event app.launched device:9f2c platform=ios", "one event with data"),
      .init("rulectl event stamp.claimed user:7 --data '{\"id\":\"welcome\"}' --explain", "and why"),
      .init("rulectl event --file events.ndjson", "a file of CloudEvents, one a line"),
      .init("zcat log.gz | rulectl event --file - --dry-run --show", "what would come of them"),
    ])

  /// Sends what is asked for.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if arguments.has("file") { return try EventFile.run(arguments, environment) }
    let event = try event(arguments)
    let outcome = try environment.connect().call("event", .object(event))
    if arguments.has("json") {
      environment.print(json: outcome)
      return .done
    }
    let text = OutcomeText(outcome, style: environment.style)
    environment.output.write(text.text(isDryRun: arguments.has("dry-run")))
    if arguments.has("explain") {
      let type = event["type"]?.brief ?? "event"
      environment.output.write("\n" + TraceTree(outcome, style: environment.style).text(type: type))
    }
    return .done
  }

  /// The members that instruct the daemon.
  static func instructions(_ arguments: Arguments) -> [JSONObject.Member] {
    var members: [JSONObject.Member] = []
    if arguments.has("dry-run") { members.append(("dryrun", true)) }
    if arguments.has("explain") { members.append(("explain", true)) }
    if arguments.has("wait") { members.append(("wait", "cascade")) }
    return members
  }

  private static func event(_ arguments: Arguments) throws(ToolError) -> JSONObject {
    for option in ["show", "window"] where arguments.has(option) {
      throw ToolError("--\(option) goes with --file; leave it out")
    }
    guard let type = arguments.operand(0), let subject = arguments.operand(1) else {
      let missing = arguments.operands.isEmpty ? "TYPE" : "SUBJECT"
      throw ToolError("\(missing) is missing; write 'rulectl event TYPE SUBJECT [key=value …]', or give --file")
    }
    var event: JSONObject = ["type": .string(type), "subject": .string(subject)]
    for option in ["id", "source", "time"] { event[option] = arguments.value(option).map(JSONValue.string) }
    event["data"] = try data(arguments)
    for (name, value) in instructions(arguments) { event[name] = value }
    return event
  }

  private static func data(_ arguments: Arguments) throws(ToolError) -> JSONValue? {
    let words = arguments.operands.dropFirst(2)
    guard let text = arguments.value("data") else { return try KeyValue.object(words) }
    let data: JSONValue
    do {
      data = try JSONValue(parsing: text)
    } catch {
      throw ToolError("--data is not JSON: \(error)")
    }
    guard !words.isEmpty else { return data }
    guard case .object(var object) = data else {
      throw ToolError("key=value needs --data to be an object; give one of both")
    }
    try KeyValue.set(words, in: &object)
    return .object(object)
  }
}
