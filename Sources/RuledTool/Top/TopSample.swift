internal import RuledCore

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
