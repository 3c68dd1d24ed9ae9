package import RuledCore
package import RuledIO

package enum CourierCommand {
  static let spec = CommandSpec(
    "ruled-courier", "Delivers the effects of ruled, which then opens no network socket itself.",
    synopsis: ["[--config FILE] [--socket PATH]"],
    options: [
      OptionSpec(
        "config", short: "c", value: "FILE", "The configuration of ruled, a Lua file; see ruled.conf(5).",
        completes: .files, repeats: true),
      OptionSpec("socket", short: "S", value: "PATH", "The Unix socket of ruled.", completes: .files, repeats: true),
    ],
    details: """
      It delivers to the sinks with a URL, under delivery = "courier" in the configuration. SIGHUP reads the configuration
      and the files of the sinks again. The exit code is 0 after a shutdown that was asked for, 2 when it cannot start; 78
      instead of 2 as a service of systemd, if a restart would meet the same.
      """,
    examples: [.init("ruled-courier --config /etc/ruled/ruled.conf.lua", "beside a daemon with the same file")])

  /// The options of `ruled-courier` that `rulectl` has, too.
  static let shared = [OptionSpec.help, .version]

  package typealias ReadConfiguration = (_ path: String) -> Result<Configuration, StartError>

  package static func run(_ words: [String], readConfiguration: @escaping ReadConfiguration) -> Int32 {
    let isService = SystemdNotifier.isService
    do throws(StartError) {
      let arguments = try parse(words)
      if arguments.has("help") {
        print(HelpText(program: nil, sharedOptions: shared).command(spec), terminator: "")
        try StartError.checkPrinted()
        return 0
      }
      if arguments.has("version") {
        print("ruled-courier \(Version.current)")
        try StartError.checkPrinted()
        return 0
      }
      let configuration = try configuration(arguments, readConfiguration)
      guard configuration.delivery == .courier else {
        throw StartError(
          "the daemon delivers itself; write delivery = \"courier\" into the configuration that both read, and restart it",
          isLasting: true)
      }
      let log = try LogQueue.ofService()
      defer { log.end() }
      try Courier.run(configuration, log: log) { () throws(StartError) in
        try self.configuration(arguments, readConfiguration)
      }
      return 0
    } catch {
      error.complain(as: "ruled-courier")
      return error.exitCode(isService: isService)
    }
  }

  private static func parse(_ words: [String]) throws(StartError) -> Arguments {
    do throws(UsageError) {
      return try ArgumentParser.parse(words[...], options: spec.options + shared, takesOperands: false)
    } catch { throw StartError(error.message, isLasting: true) }
  }

  private static func configuration(
    _ arguments: Arguments, _ read: ReadConfiguration
  ) throws(StartError) -> Configuration {
    var configuration = Configuration()
    if let path = arguments.value("config") { configuration = try read(path).get() }
    if let socket = arguments.value("socket") { configuration.socket = socket }
    return configuration
  }
}
