internal import Glibc
package import RuledCore
internal import RuledReports

/// `rulectl top`: a live view of a daemon.
package enum TopCommand: Command {
  package static let spec = CommandSpec(
    "top", "Shows what the daemon is doing, updated every second.",
    options: [
      OptionSpec("once", short: "1", "Shows one screen and ends."),
      OptionSpec("interval", short: "i", value: "S", "Seconds between two updates, from 1 to 60; 1 by default."),
      OptionSpec("limit", short: "n", value: "N", "Shows at most N plugins and N rules; 20 by default."),
    ],
    details: "q ends it. Where output is no terminal, the screens are printed one after another as plain text.",
    examples: [.init("rulectl top", "a live view"), .init("rulectl top --once", "one screen, for a script")])

  /// Prints a screen after each interval.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let interval = try arguments.integer("interval", in: 1...60) ?? 1
    let limit = try arguments.integer("limit", in: 1...10_000) ?? 20
    let client = try environment.connect()
    let isLive = environment.output.isTerminal && !arguments.has("once")
    let keyboard = isLive && environment.input.isTerminal ? Keyboard(descriptor: 0) : nil
    var before = try TopSample(client)
    var beforeTime = now()
    while true {
      if let keyboard {
        if keyboard.waitsForEnd(seconds: interval) { return .done }
      } else {
        sleep(UInt32(interval))
      }
      let after = try TopSample(client)
      let afterTime = now()
      let screen = TopScreen(before: before, after: after, seconds: afterTime - beforeTime, endsByKey: keyboard != nil)
      environment.output.write((isLive ? "\u{1B}[H\u{1B}[2J" : "") + screen.text(environment.style, limit: limit))
      if arguments.has("once") { return .done }
      if !isLive { environment.output.write("\n") }
      environment.output.flush()
      (before, beforeTime) = (after, afterTime)
    }
  }

  /// The monotonic clock, in seconds.
  private static func now() -> Double { Double(MonotonicClock.nanoseconds) / 1e9 }
}

/// A daemon's figures at one moment.
struct TopSample {
  /// The figures of a plugin or of a rule since it was loaded.
  struct Entry {
    /// The plugin's name, or `plugin.rule`.
    var name: String
    var runs: Int
    var failures: Int
    /// The median duration of a run in microseconds, if the daemon measures it.
    var p50: Double?
    /// The 99th percentile of the duration in microseconds, if the daemon measures it.
    var p99: Double?

    /// A duration that the daemon measured; nil where it measured none, which it writes as 0.
    static func measured(_ value: JSONValue?) -> Double? { value?.doubleValue.flatMap { $0 > 0 ? $0 : nil } }

    /// Reads an element of the answer to `rules`.
    init(_ json: JSONValue, prefix: String = "") {
      name = prefix + (json.member("name")?.brief.printable ?? "?")
      runs = json.count("runs")
      failures = json.count("failures")
      p50 = Self.measured(json.member("p50_us"))
      p99 = Self.measured(json.member("p99_us"))
    }
  }

  /// The answer to `health`.
  var health: JSONValue
  /// The daemon's samples of one second, if it takes them.
  var load: JSONValue?
  /// How many events are parked; nil if the daemon does not say.
  var parked: Int? {
    health.member("parked")?.objectValue.map { $0.reduce(0) { $0 + Int($1.value.intValue ?? 0) } }
  }
  var plugins: [Entry]
  /// The rules, if the daemon measures each.
  var rules: [Entry]
  /// How many problems keep the rules on disk from loading.
  var errors: Int

  /// What a call answers; nil where the daemon does not know the method or the caller may not call it.
  private static func optional(_ call: () throws -> JSONValue) throws -> JSONValue? {
    do { return try call() } catch let error as DaemonError where ["unknown_method", "forbidden"].contains(error.code) {
      return nil
    }
  }

  /// Asks the daemon.
  init(_ client: Client) throws {
    health = try client.call("health", [:])
    let listing = try client.call("rules", [:])
    let plugins = listing.elements("plugins")
    self.plugins = plugins.map { Entry($0) }
    rules = plugins.flatMap { plugin in
      plugin.elements("rules").filter { $0.member("runs") != nil }
        .map { Entry($0, prefix: (plugin.member("name")?.brief.printable ?? "?") + ".") }
    }
    errors = listing.elements("errors").count
    load = try Self.optional { try client.call("samples", [:]) }?.elements("series").first
  }
}

/// One screen of `rulectl top`: what changed between two samples.
struct TopScreen {
  var before: TopSample
  var after: TopSample
  /// The time between them, in seconds.
  var seconds: Double
  /// Whether a key ends the view.
  var endsByKey = false

  /// The screen as text.
  ///
  /// - Parameters:
  ///   - style: How it is coloured.
  ///   - limit: How many plugins and how many rules to show at most.
  /// - Returns: Lines of text.
  func text(_ style: Style, limit: Int) -> String {
    let plugins = changes(after.plugins, before.plugins)
    var text = head(style, plugins) + "\n" + table("PLUGIN", plugins, limit, style)
    let rules = changes(after.rules, before.rules)
    if !rules.isEmpty { text += "\n" + table("RULE", rules, limit, style) }
    return text + foot(rules.isEmpty ? plugins : rules, style) + (endsByKey ? style.dim("q ends") + "\n" : "")
  }

  private struct Change {
    var entry: TopSample.Entry
    var runs: Int
    var failures: Int
  }

  /// How often each ran and failed between the samples, the busiest first.
  ///
  /// One with fewer runs than before was reloaded: all its runs are new.
  private func changes(_ after: [TopSample.Entry], _ before: [TopSample.Entry]) -> [Change] {
    let old = Dictionary(before.map { ($0.name, $0) }) { first, _ in first }
    return after.map { entry in
      let earlier = old[entry.name].flatMap { $0.runs <= entry.runs ? $0 : nil }
      return Change(
        entry: entry, runs: entry.runs - (earlier?.runs ?? 0),
        failures: max(0, entry.failures - (earlier?.failures ?? 0)))
    }.sorted { ($1.runs, $0.entry.name) < ($0.runs, $1.entry.name) }
  }

  private func head(_ style: Style, _ plugins: [Change]) -> String {
    let health = after.health
    let status = health.member("status")?.brief.printable ?? "?"
    let stuck = plugins.filter { $0.runs > 0 && $0.failures == $0.runs }.map(\.entry.name)
    var parts = [
      !stuck.isEmpty
        ? style.red("every run of \(stuck.joined(separator: ", ")) fails")
        : status == "ready" ? style.green(status) : style.red(status)
    ]
    if let revision = health.member("revision") { parts.append("revision \(revision.brief.printable)") }
    if let workers = health.member("workers")?.intValue { parts.append(Figures.count(Int(workers), "worker")) }
    if let uptime = health.member("uptime_s")?.doubleValue {
      parts.append("up \(Figures.duration(seconds: Int(uptime)))")
    }
    var rates: [String] = []
    if let events = recent("events"), !events.isEmpty {
      let count = events.reduce(0) { $0 + Int($1.intValue ?? 0) }
      rates.append("\(style.bold(Figures.count(count / events.count))) events/s")
    }
    rates.append("\(style.bold(perSecond(plugins.reduce(0) { $0 + $1.runs }))) runs/s")
    let failures = plugins.reduce(0) { $0 + $1.failures }
    let failing = "\(perSecond(failures)) failures/s"
    rates.append(failures > 0 ? style.red(failing) : failing)
    rates.append("p50 \(latest("run_p50_us")), p99 \(latest("run_p99_us"))")
    return [parts.joined(separator: ", "), rates.joined(separator: ", "), waiting(style)].map { $0 + "\n" }.joined()
  }

  /// What waits: parked events, and what each sink has to deliver or has given up.
  private func waiting(_ style: Style) -> String {
    let parked = "\(after.parked.map { Figures.count($0) } ?? "-") parked"
    var parts = [after.parked ?? 0 > 0 ? style.red(parked) : parked]
    for (name, sink) in after.health.member("sinks")?.objectValue?.members ?? [] {
      let waiting = sink.count("waiting")
      let givenUp = sink.count("given_up")
      guard waiting > 0 || givenUp > 0 else { continue }
      let counts = [(waiting, "waiting"), (givenUp, "given up")].filter { $0.0 > 0 }
      let text = counts.map { "\(Figures.count($0.0)) \($0.1)" }.joined(separator: ", ")
      parts.append(givenUp > 0 ? style.red("\(name.printable) \(text)") : "\(name.printable) \(text)")
    }
    return parts.joined(separator: "; ")
  }

  /// The daemon's samples of the seconds since the earlier screen.
  private func recent(_ figure: String) -> ArraySlice<JSONValue>? {
    after.load?.elements(figure).suffix(max(1, Int(seconds.rounded())))
  }

  /// The last duration that was measured meanwhile; `-` for none.
  private func latest(_ figure: String) -> String {
    recent(figure)?.last { !$0.isNull }.flatMap { TopSample.Entry.measured($0) }.map(Figures.micros) ?? "-"
  }

  private func table(_ heading: String, _ changes: [Change], _ limit: Int, _ style: Style) -> String {
    guard !changes.isEmpty else { return "no plugins are loaded\n" }
    var table = Table(["RUNS/S": .right, "P50": .right, "P99": .right, "FAILURES": .right, "NEW": .right, "": .left])
    table.headings[5] = heading
    for change in changes.prefix(limit) {
      table.add([
        perSecond(change.runs), change.entry.p50.map(Figures.micros) ?? "-",
        change.entry.p99.map(Figures.micros) ?? "-", Figures.count(change.entry.failures),
        change.failures > 0 ? "+\(Figures.count(change.failures))" : "-", change.entry.name,
      ])
    }
    let hidden = changes.count - limit
    return table.text(style) + (hidden > 0 ? style.dim("and \(Figures.count(hidden)) more") + "\n" : "")
  }

  private func foot(_ changes: [Change], _ style: Style) -> String {
    var text = ""
    if let busiest = changes.first, busiest.runs > 0 { text += "\nbusiest \(style.cyan(busiest.entry.name))" }
    let timed = changes.filter { $0.runs > 0 && $0.entry.p99 != nil }
    if let slowest = timed.max(by: { ($0.entry.p99 ?? 0) < ($1.entry.p99 ?? 0) }), let p99 = slowest.entry.p99 {
      text += ", slowest \(style.cyan(slowest.entry.name)) (p99 \(Figures.micros(p99)))"
    }
    if !text.isEmpty { text += "\n" }
    if after.errors > 0 { text += style.red("the rules on disk do not load") + "; 'rulectl rules' shows why\n" }
    return text
  }

  private func perSecond(_ count: Int) -> String {
    Figures.count(seconds > 0 ? Int((Double(count) / seconds).rounded()) : count)
  }
}
