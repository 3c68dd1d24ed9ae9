internal import RuledCore

/// What a daemon said of itself at one moment, for `rulectl top`.
struct TopSample {
  /// What one plugin, or one rule of it, has done since it was loaded.
  struct Entry {
    /// The plugin's name, or `plugin.rule`.
    var name: String
    /// How often it ran.
    var runs: Int
    /// How often it failed.
    var failures: Int
    /// The median of its times, in microseconds, when the daemon measures it.
    var p50: Double?
    /// What 99 of 100 runs did not exceed, in microseconds, when the daemon measures it.
    var p99: Double?

    /// An entry from what `rules` says of it.
    init(_ json: JSONValue, prefix: String = "") {
      name = prefix + (json.member("name")?.brief.printable ?? "?")
      runs = Int(json.member("runs")?.intValue ?? 0)
      failures = Int(json.member("failures")?.intValue ?? 0)
      p50 = json.member("p50_us")?.doubleValue
      p99 = json.member("p99_us")?.doubleValue
    }
  }

  /// The answer to `health`.
  var health: JSONValue
  /// The plugins.
  var plugins: [Entry]
  /// The rules, when the daemon measures each.
  var rules: [Entry]
  /// What on disk does not load.
  var errors: Int
  /// Events since the start, when the daemon counts them.
  var events: Int?

  /// Asks the daemon.
  init(_ client: Client) throws {
    health = try client.call("health", [:])
    let listing = try client.call("rules", [:])
    let plugins = listing.member("plugins")?.arrayValue ?? []
    self.plugins = plugins.map { Entry($0) }
    rules = plugins.flatMap { plugin in
      (plugin.member("rules")?.arrayValue ?? []).filter { $0.member("runs") != nil }
        .map { Entry($0, prefix: (plugin.member("name")?.brief.printable ?? "?") + ".") }
    }
    errors = listing.member("errors")?.arrayValue?.count ?? 0
    events = health.member("events")?.intValue.map { Int($0) }
  }
}
