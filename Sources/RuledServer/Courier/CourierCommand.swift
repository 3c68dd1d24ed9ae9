import RuledCore
import RuledLua

/// The command line of `ruled-courier`.
package enum CourierCommand {
  /// What `ruled-courier` takes and says of itself.
  static let spec = CommandSpec(
    "ruled-courier", "Delivers the effects of ruled, which then opens no network socket itself.",
    synopsis: ["[--config FILE] [--socket PATH]"],
    options: [
      OptionSpec(
        "config", short: "c", value: "FILE", "The configuration of ruled, a Lua file; see ruled.conf(5).",
        completes: .files, repeats: true),
      OptionSpec(
        "socket", short: "S", value: "PATH", "The Unix socket of ruled.", completes: .files, repeats: true),
    ],
    details: """
      It delivers to the sinks with a URL, under delivery = "courier" in the configuration. SIGHUP reads the configuration
      and the files of the sinks again. The exit code is 0 after a shutdown that was asked for, 2 when it cannot start.
      """,
    examples: [.init("ruled-courier --config /etc/ruled/ruled.conf.lua", "beside a daemon with the same file")])

  /// The options of `ruled-courier` that `rulectl` has, too.
  static let shared = [OptionSpec.help, .version]

  /// Runs the program and returns its exit code.
  package static func run(_ words: [String]) -> Int32 {
    do throws(StartError) {
      let arguments = try parse(words)
      if arguments.has("help") {
        print(HelpText(program: nil, sharedOptions: shared).command(spec), terminator: "")
        return 0
      }
      if arguments.has("version") {
        print("ruled-courier \(Version.current)")
        return 0
      }
      let configuration = try configuration(arguments)
      guard configuration.delivery == .courier else {
        throw StartError(
          "the daemon delivers itself; write delivery = \"courier\" into the configuration that both read, and restart it"
        )
      }
      try Courier.run(configuration, log: JournalLog() ?? StandardErrorLog()) { () throws(StartError) in
        try self.configuration(arguments)
      }
      return 0
    } catch {
      ServeCommand.complain(error.description, as: "ruled-courier")
      return 2
    }
  }

  private static func parse(_ words: [String]) throws(StartError) -> Arguments {
    do throws(UsageError) {
      return try ArgumentParser.parse(words[...], options: spec.options + shared, takesOperands: false)
    } catch { throw StartError(error.message) }
  }

  private static func configuration(_ arguments: Arguments) throws(StartError) -> Configuration {
    var configuration = Configuration()
    if let path = arguments.value("config") {
      do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(path) } catch {
        throw StartError(error.description)
      }
    }
    if let socket = arguments.value("socket") { configuration.socket = socket }
    return configuration
  }
}
