internal import RuledCore
internal import RuledReports

enum DropCommand: Command {
  static let spec = ParkedArguments.spec(
    "drop", "Discards parked events: the plugin will never see them.",
    options: [
      OptionSpec("to", value: "FILE", "Appends what is dropped to a file, a line of JSON each.", completes: .files),
      OptionSpec("yes", "Drops without asking."),
    ],
    details: "On a terminal it asks first. With --to, the file is on the disk before anything is dropped.",
    example: .init("rulectl drop --plugin old --to dropped.ndjson", "all that is parked for a plugin that was removed"))

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let params = try ParkedArguments.params(arguments)
    let client = try environment.connect()
    let what = arguments.value("plugin").map { "all that is parked for the plugin '\($0)'" } ?? "this event"
    let question = "drop \(what)? The plugin will never see it."
    guard try environment.confirms(question, arguments, or: "nothing was dropped") else { return .no }
    let result =
      try arguments.value("to").map { try drop(params, copyingTo: $0, client) } ?? client.call("drop", params)
    return environment.show(result, arguments) { result in
      let dropped = result.count("dropped")
      return dropped == 0 ? "nothing is parked\n" : "\(Figures.count(dropped)) dropped\n"
    }
  }

  /// Writes the events to a file, and drops those and no others: more may be parked meanwhile.
  private static func drop(_ params: JSONValue, copyingTo path: String, _ client: Client) throws -> JSONValue {
    var selection = JSONObject()
    selection["plugin"] = params.member("plugin")
    let wanted = params.member("parked")
    let found = try PagedList.all("parked", selection, client).filter { wanted == nil || $0.member("id") == wanted }
    guard !found.isEmpty else { return try client.call("drop", params) }
    try AppendedFile(path).append(found)
    var dropped: Int64 = 0
    for item in found {
      // Somebody else may have retried or dropped it meanwhile.
      let answer = try client.call("drop", ["parked": item.member("id") ?? .null], unless: [.notFound])
      dropped += answer?.member("dropped")?.intValue ?? 0
    }
    return ["dropped": .integer(dropped)]
  }
}
