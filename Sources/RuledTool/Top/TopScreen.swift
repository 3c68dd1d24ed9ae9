internal import RuledCore
internal import RuledReports

/// One screen of `rulectl top`: the changes between two samples.
struct TopScreen {
  var before: TopSample
  var after: TopSample
  /// The time between them, in seconds.
  var seconds: Double
  var endsByKey = false

  /// The screen as text, with `limit` plugins and as many rules at most.
  func text(_ style: Style, limit: Int) -> String {
    let plugins = changes(after.plugins, before.plugins)
    var text = head(style, plugins) + "\n" + table("PLUGIN", plugins, limit, style)
    let rules = changes(after.rules, before.rules)
    if !rules.isEmpty { text += "\n" + table("RULE", rules, limit, style) }
    return text + foot(rules.isEmpty ? plugins : rules, style) + (endsByKey ? style.dim("q ends") + "\n" : "")
  }

  private typealias Change = (entry: TopSample.Entry, runs: Int, failures: Int)

  /// How often each ran and failed between the samples, the busiest first.
  ///
  /// One with fewer runs than before was reloaded: all its runs are new.
  private func changes(_ after: [TopSample.Entry], _ before: [TopSample.Entry]) -> [Change] {
    let old = Dictionary(before.map { ($0.name, $0) }) { first, _ in first }
    return after.map { entry in
      let earlier = old[entry.name].flatMap { $0.runs <= entry.runs ? $0 : nil }
      return (
        entry, entry.runs - (earlier?.runs ?? 0), max(0, entry.failures - (earlier?.failures ?? 0))
      )
    }.sorted { ($1.runs, $0.entry.name) < ($0.runs, $1.entry.name) }
  }

  private func head(_ style: Style, _ plugins: [Change]) -> String {
    let health = after.health
    let status = health.word("status").printable
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

  /// The waiting work: parked events, and each sink's effects to deliver or given up.
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
    let table = Table([">RUNS/S", ">P50", ">P99", ">FAILURES", ">NEW", heading]).rows(changes.prefix(limit)) { change in
      [
        perSecond(change.runs), change.entry.p50.map(Figures.micros) ?? "-",
        change.entry.p99.map(Figures.micros) ?? "-", Figures.count(change.entry.failures),
        change.failures > 0 ? "+\(Figures.count(change.failures))" : "-", change.entry.name,
      ]
    }
    let hidden = changes.count - limit
    return table.text(style, empty: "no plugins are loaded\n")
      + (hidden > 0 ? style.dim("and \(Figures.count(hidden)) more") + "\n" : "")
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
      name = prefix + json.word("name").printable
      runs = json.count("runs")
      failures = json.count("failures")
      p50 = Self.measured(json.member("p50_us"))
      p99 = Self.measured(json.member("p99_us"))
    }
  }

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

  init(_ client: Client) throws {
    health = try client.call("health", [:])
    let listing = try client.call("rules", [:])
    let plugins = listing.elements("plugins")
    self.plugins = plugins.map { Entry($0) }
    rules = plugins.flatMap { plugin in
      plugin.elements("rules").filter { $0.member("runs") != nil }
        .map { Entry($0, prefix: plugin.word("name").printable + ".") }
    }
    errors = listing.elements("errors").count
    load = try client.call("samples", [:], unless: [.unknownMethod, .forbidden])?.elements("series").first
  }
}
