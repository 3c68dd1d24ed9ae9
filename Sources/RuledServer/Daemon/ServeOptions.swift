import Glibc
import RuledCore
import RuledLua

/// What the command line of `ruled` asks for.
struct ServeOptions {
  /// What `ruled` takes and says of itself.
  ///
  /// An option with a value may be given again; the last value counts.
  static let spec = CommandSpec(
    "ruled", "Serves decisions on events, by rules in Lua.",
    synopsis: [
      "[--config FILE] [--rules DIR] [--store URL] [--socket PATH] [--clock manual]", "--check [OPTION …]",
      "--salvage [OPTION …]",
    ],
    options: [
      OptionSpec(
        "config", short: "c", value: "FILE", "The configuration, a Lua file; see ruled.conf(5).", completes: .files,
        repeats: true),
      OptionSpec("rules", short: "r", value: "DIR", "The rules folder.", completes: .folders, repeats: true),
      OptionSpec("store", short: "s", value: "URL", "rocksdb:PATH, or memory: to keep nothing on disk.", repeats: true),
      OptionSpec("socket", short: "S", value: "PATH", "The Unix socket to serve on.", completes: .files, repeats: true),
      OptionSpec(
        "clock", value: "manual", "For tests: time stands still until 'rulectl clock' moves it.",
        completes: .words(["manual"]), repeats: true),
      OptionSpec("check", "Loads the configuration and the rules, prints what is wrong with them, and ends."),
      OptionSpec("salvage", "Saves what can be read of a damaged store that does not open, and ends."),
    ],
    details: """
      Options override the configuration. The exit code is 0 after a shutdown that was asked for, 1 when --check found
      something wrong, 2 when the daemon cannot start.
      """,
    examples: [
      .init("ruled --rules rules --store rocksdb:var/store --socket var/ruled.sock", "serves from this folder"),
      .init("ruled --config /etc/ruled/ruled.conf.lua --check", "before a restart"),
    ])

  /// The options of `ruled` that `rulectl` has, too.
  static let shared = [OptionSpec.help, .version]

  private let arguments: Arguments

  var showsHelp: Bool { arguments.has("help") }
  var showsVersion: Bool { arguments.has("version") }
  var checks: Bool { arguments.has("check") }
  var salvages: Bool { arguments.has("salvage") }
  var hasManualClock: Bool { arguments.has("clock") }
  /// The configuration file, if one is named.
  var config: String? { arguments.value("config") }

  /// Parses the words that follow the program's name.
  init(_ words: [String]) throws(StartError) {
    do throws(UsageError) {
      arguments = try ArgumentParser.parse(words[...], options: Self.spec.options + Self.shared, takesOperands: false)
      if !arguments.has("help") { try Self.spec.checkOperands(of: arguments, program: nil) }
    } catch { throw StartError(error.message) }
    if let clock = arguments.value("clock"), clock != "manual" {
      throw StartError("--clock takes only 'manual', not '\(clock)'; leave it out to use the host's clock")
    }
  }

  /// The configuration file's values, overridden by the command line's.
  func configuration() throws(StartError) -> Configuration {
    var configuration = Configuration()
    if let config {
      do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(config) } catch {
        throw StartError(error.description, isFinding: access(config, R_OK) == 0)
      }
    }
    if let rules = arguments.value("rules") { configuration.rules = rules }
    if let socket = arguments.value("socket") { configuration.socket = socket }
    if let store = arguments.value("store") {
      guard let url = StoreURL(store) else {
        throw StartError("--store '\(store)' is no store; use rocksdb:PATH or memory:")
      }
      configuration.store = url
    }
    return configuration
  }
}
