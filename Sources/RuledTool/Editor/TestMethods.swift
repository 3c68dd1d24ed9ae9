internal import RuledLua

/// The methods of a test's `t`, for editors and for `rulectl check`.
enum TestMethods {
  static let all = [
    LibraryFunction(
      "Test:advance", "duration: string", "",
      "Moves the clock forward, by \"90s\", \"1h30m\", \"14d\" or \"1w\"; timers that fall due fire."),
    LibraryFunction(
      "Test:at", "time: string|number", "",
      "Sets the clock, in RFC 3339 or epoch seconds; timers that fall due on the way forward fire."),
    LibraryFunction(
      "Test:board", "name: string", "table[]",
      "All places of this plugin's board in order, each with subject, score and rank."),
    LibraryFunction(
      "Test:captured", "", "", "Says that the test was captured from what happened: it fails if no rule runs."),
    LibraryFunction("Test:counters", "", "table[]", "All counters, each with name, labels and value."),
    LibraryFunction(
      "Test:decided", "subject: string", "table", "What all plugins decided on the last event of the subject."),
    LibraryFunction(
      "Test:each", "cases: table; run: fun(case: any, name: any)", "",
      "Calls the function for each case of a table; each begins as the test stands."),
    LibraryFunction(
      "Test:effects", "subject: string", "ruled.Effect[]", "The effects of all plugins on the subject so far."),
    LibraryFunction(
      "Test:equal", "got: any; wanted: any; note: string?", "", "Compares two values with all they hold."),
    LibraryFunction(
      "Test:event", "subject: string; type: string; data: any?; options: table<string, any>?", "ruled.Outcome",
      "Sends an event, and gives its outcome once everything that it causes has happened."),
    LibraryFunction(
      "Test:failing", "subject: string; plugin: string?", "",
      "Lets this plugin, or another one, fail on the next event of the subject; the event is parked for it."),
    LibraryFunction(
      "Test:failures", "", "table[]", "The failures that the test has not read yet, which it expects thereby."),
    LibraryFunction(
      "Test:fails", "run: function; pattern: string?", "",
      "Expects the function to raise an error whose message matches the pattern."),
    LibraryFunction(
      "Test:given",
      "subject: string; version: integer; states: table<string, any>; items: { timers: table[]?, once: table[]?, topics: string[]? }?",
      "",
      "Gives the subject a version, the plugins' states by name, and timers, once keys and topics as export shows them."
    ),
    LibraryFunction("Test:now", "", "number", "The clock, in epoch seconds."),
    LibraryFunction(
      "Test:property", "n: integer; generator: fun(random: table): any; run: fun(value: any)", "",
      "Calls the function with n random values, and makes one that fails simpler."),
    LibraryFunction(
      "Test:query", "subject: string|nil; name: string; args: table<string, any>?", "any",
      "The answer of this plugin's query, or of another one's by its full name."),
    LibraryFunction(
      "Test:replay", "file: string", "ruled.Outcome[]",
      "Sends the events of a file in tests/, one in each line, and gives their outcomes."),
    LibraryFunction(
      "Test:retry", "subject: string; plugin: string?; id: string?", "",
      "Tries what is parked of the subject for this plugin, or another one, again; only the event with the id if given."
    ),
    LibraryFunction("Test:sent", "", "table[]", "The messages sent so far, each with subject, type, data and from."),
    LibraryFunction(
      "Test:settings", "settings: table<string, any>; plugin: string?", "",
      "Overrides settings for the rest of the test."),
    LibraryFunction(
      "Test:sink", "effect: table; name: string?", "table?; string?",
      "The request that the sink handler returns, or nil and why."),
    LibraryFunction(
      "Test:snapshot", "name: string; value: any?", "",
      "Compares all that the test did so far, or a value, with the file tests/NAME.snapshot.json."),
    LibraryFunction(
      "Test:state", "subject: string", "table", "This plugin's state of the subject; empty if there is none."),
    LibraryFunction("Test:truthy", "value: any; note: string?", "", "Expects a value that is neither nil nor false."),
    LibraryFunction("Test:web", "request: table<string, any>", "table", "The web handler's answer."),
  ]

  static let names = all.map { String($0.name.dropFirst("Test:".count)) }
}
