import Glibc
import RuledCore
import RuledEngine
import RuledLua

/// The command line of `ruled`.
package enum ServeCommand {
  private static let version = "0.1.0"
  private static let help = """
    ruled - turns events into decisions by rules in Lua

    usage: ruled [--config FILE] [--rules DIR] [--store URL] [--socket PATH] [--clock manual] [--check]

      -c, --config FILE   the configuration, a Lua file (see ruled.conf(5))
      -r, --rules DIR     the rules folder
      -s, --store URL     rocksdb:PATH, or memory: for one that forgets
      -S, --socket PATH   the Unix socket to serve on
          --clock manual  a clock that stands still until it is set; for tests
          --check         load configuration and rules, say what is wrong, and end
      -h, --help          show this
          --version       show the version

    examples:
      ruled --rules rules --store rocksdb:var/store --socket var/ruled.sock
      ruled --config /etc/ruled/ruled.conf.lua --check

    """

  /// Runs the program; answers its exit code.
  package static func run(_ arguments: [String]) -> Int32 {
    do throws(StartError) {
      let options = try ServeOptions(arguments)
      if options.showsHelp {
        print(help, terminator: "")
        return 0
      }
      if options.showsVersion {
        print("ruled \(version)")
        return 0
      }
      let configuration = try options.configuration()
      if options.checks { return check(configuration) }
      try Daemon(
        configuration: configuration, manualClock: options.hasManualClock, log: StandardErrorLog(),
        readConfiguration: options.configuration
      ).run()
      return 0
    } catch {
      complain(error.description)
      return 2
    }
  }

  private static func complain(_ problem: String) {
    let line = Array("ruled: \(problem)\n".utf8)
    _ = write(2, line, line.count)
  }

  private static func check(_ configuration: Configuration) -> Int32 {
    do throws(ReloadError) {
      let catalog = try CatalogBuilder.build(
        try RulesFolder.read(configuration.rules), configuration: configuration.plugins, previous: nil,
        worker: LuaWorker(), now: EngineClock.wall)
      print("\(catalog.plugins.count) plugins load, revision \(catalog.revision)")
      return 0
    } catch {
      for problem in error.errors { complain(problem.description) }
      return 1
    }
  }
}
