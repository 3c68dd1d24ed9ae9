internal import Glibc
internal import RuledCore

enum TopCommand: Command {
  static let spec = CommandSpec(
    "top", "Shows what the daemon is doing, updated every second.",
    options: [
      OptionSpec("once", short: "1", "Shows one screen and ends."),
      OptionSpec("interval", short: "i", value: "S", "Seconds between two updates, from 1 to 60; 1 by default."),
      OptionSpec("limit", short: "n", value: "N", "Shows at most N plugins and N rules; 20 by default."),
    ],
    details: "q ends it. Where output is no terminal, the screens are printed one after another as plain text.",
    examples: [.init("rulectl top", "a live view"), .init("rulectl top --once", "one screen, for a script")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
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
