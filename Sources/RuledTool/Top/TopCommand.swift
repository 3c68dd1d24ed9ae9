internal import Glibc
package import RuledCore

/// `rulectl top`: a live view of a daemon.
package enum TopCommand: Command {
  /// Name, options and help.
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
  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// A daemon's figures at one moment.
struct TopSample {
  /// The figures of a plugin or of a rule since it was loaded.
  struct Entry {
    /// The plugin's name, or `plugin.rule`.
    var name: String
    /// How often it ran.
    var runs: Int
    /// How often it failed.
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
  /// The plugins.
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
