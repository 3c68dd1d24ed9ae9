/// A method of a test's `t`, for editors and for `rulectl check`.
struct TestMethod {
  let name: String
  /// The parameters with their types as LuaCATS writes them; `?` behind a name: it may be left out.
  let parameters: [(name: String, type: String)]
  /// The type of the result as LuaCATS writes it; empty without one.
  let result: String
  /// What it does, in a sentence.
  let about: String

  private init(_ name: String, _ parameters: [(name: String, type: String)], _ about: String) {
    self.init(name, parameters, "", about)
  }

  private init(_ name: String, _ parameters: [(name: String, type: String)], _ result: String, _ about: String) {
    self.name = name
    self.parameters = parameters
    self.result = result
    self.about = about
  }

  static let all = [
    TestMethod(
      "advance", [("duration", "string")],
      "Moves the clock forward, by \"90s\", \"1h30m\", \"14d\" or \"1w\"; timers that fall due fire."),
    TestMethod(
      "at", [("time", "string|number")],
      "Sets the clock, in RFC 3339 or epoch seconds; timers that fall due on the way forward fire."),
    TestMethod(
      "board", [("name", "string")], "table[]",
      "All places of this plugin's board in order, each with subject, score and rank."),
    TestMethod("captured", [], "Says that the test was captured from what happened: it fails if no rule runs."),
    TestMethod("counters", [], "table[]", "All counters, each with name, labels and value."),
    TestMethod(
      "decided", [("subject", "string")], "table", "What all plugins decided on the last event of the subject."),
    TestMethod(
      "each", [("cases", "table"), ("run", "fun(case: any, name: any)")],
      "Calls the function for each case of a table; each begins as the test stands."),
    TestMethod(
      "effects", [("subject", "string")], "ruled.Effect[]", "The effects of all plugins on the subject so far."),
    TestMethod(
      "equal", [("got", "any"), ("wanted", "any"), ("note?", "string")], "Compares two values with all they hold."),
    TestMethod(
      "event", [("subject", "string"), ("type", "string"), ("data?", "any"), ("options?", "table<string, any>")],
      "ruled.Outcome", "Sends an event, and gives its outcome once everything that it causes has happened."),
    TestMethod(
      "failing", [("subject", "string"), ("plugin?", "string")],
      "Lets this plugin, or another one, fail on the next event of the subject; the event is parked for it."),
    TestMethod("failures", [], "table[]", "The failures that the test has not read yet, which it expects thereby."),
    TestMethod(
      "fails", [("run", "function"), ("pattern?", "string")],
      "Expects the function to raise an error whose message matches the pattern."),
    TestMethod(
      "given",
      [
        ("subject", "string"), ("version", "integer"), ("states", "table<string, any>"),
        ("items?", "{ timers: table[]?, once: table[]?, topics: string[]? }"),
      ],
      "Gives the subject a version, the plugins' states by name, and timers, once keys and topics as export shows them."
    ),
    TestMethod("now", [], "number", "The clock, in epoch seconds."),
    TestMethod(
      "property", [("n", "integer"), ("generator", "fun(random: table): any"), ("run", "fun(value: any)")],
      "Calls the function with n random values, and makes one that fails simpler."),
    TestMethod(
      "query", [("subject", "string?"), ("name", "string"), ("args?", "table<string, any>")], "any",
      "The answer of this plugin's query, or of another one's by its full name."),
    TestMethod(
      "replay", [("file", "string")], "ruled.Outcome[]",
      "Sends the events of a file in tests/, one in each line, and gives their outcomes."),
    TestMethod(
      "retry", [("subject", "string"), ("plugin?", "string"), ("id?", "string")],
      "Tries what is parked of the subject for this plugin, or another one, again; only the event with the id if given."
    ),
    TestMethod("sent", [], "table[]", "The messages sent so far, each with subject, type, data and from."),
    TestMethod(
      "settings", [("settings", "table<string, any>"), ("plugin?", "string")],
      "Overrides settings for the rest of the test."),
    TestMethod(
      "sink", [("effect", "table"), ("name?", "string")], "table?, string?",
      "The request that the sink handler returns, or nil and why."),
    TestMethod(
      "snapshot", [("name", "string"), ("value?", "any")],
      "Compares all that the test did so far, or a value, with the file tests/NAME.snapshot.json."),
    TestMethod(
      "state", [("subject", "string")], "table", "This plugin's state of the subject; empty if there is none."),
    TestMethod("truthy", [("value", "any"), ("note?", "string")], "Expects a value that is neither nil nor false."),
    TestMethod("web", [("request", "table<string, any>")], "table", "The web handler's answer."),
  ]

  var definition: String {
    var lines = ["---\(about)"]
    for parameter in parameters { lines.append("---@param \(parameter.name) \(parameter.type)") }
    if !result.isEmpty { lines.append("---@return \(result)") }
    let names = parameters.map { $0.name.hasSuffix("?") ? String($0.name.dropLast()) : $0.name }
    return lines.joined(separator: "\n") + "\nfunction Test:\(name)(\(names.joined(separator: ", "))) end\n"
  }
}
