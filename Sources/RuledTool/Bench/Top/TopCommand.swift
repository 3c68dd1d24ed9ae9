internal import Glibc
internal import RuledCore

/// `rulectl top`: what a daemon does, as it does it.
package enum TopCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "top", "Shows what the daemon is doing, each second anew.",
    options: [
      OptionSpec("once", short: "1", "Shows one second and ends."),
      OptionSpec("interval", short: "i", value: "S", "Seconds between two looks, from 1 to 60; 1 by default."),
      OptionSpec("limit", short: "n", value: "N", "Lines of plugins and of rules at most; 20 by default."),
    ],
    details: "Ctrl-C ends it. Off a terminal the screens follow one another as plain text.",
    examples: [.init("rulectl top", "a live view"), .init("rulectl top --once", "one look, for a script")])

  /// Looks again and again.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let interval = try arguments.integer("interval", in: 1...60) ?? 1
    let limit = try arguments.integer("limit", in: 1...10_000) ?? 20
    let client = try environment.connect()
    let isLive = environment.output.isTerminal && !arguments.has("once")
    var before = try TopSample(client)
    var looked = seconds()
    while true {
      sleep(UInt32(interval))
      let after = try TopSample(client)
      let now = seconds()
      let view = TopView(before: before, after: after, seconds: now - looked)
      environment.output.write((isLive ? "\u{1B}[H\u{1B}[2J" : "") + view.text(environment.style, limit: limit))
      if arguments.has("once") { return .done }
      if !isLive { environment.output.write("\n") }
      environment.output.flush()
      (before, looked) = (after, now)
    }
  }

  private static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
