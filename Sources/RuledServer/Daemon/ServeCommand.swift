import Glibc
import RuledCore
import RuledEngine
import RuledLua
import RuledStore

/// The command line of `ruled`.
package enum ServeCommand {
  private static let version = "0.1.0"
  private static let help = """
    ruled - turns events into decisions by rules in Lua

    usage: ruled [--config FILE] [--rules DIR] [--store URL] [--socket PATH] [--clock manual]
                 [--check] [--salvage]

      -c, --config FILE   the configuration, a Lua file (see ruled.conf(5))
      -r, --rules DIR     the rules folder
      -s, --store URL     rocksdb:PATH, or memory: for one that forgets
      -S, --socket PATH   the Unix socket to serve on
          --clock manual  a clock that stands still until it is set; for tests
          --check         load configuration and rules, say what is wrong, and end
          --salvage       save what is whole of a store that is damaged and does not open, and end
      -h, --help          show this
      -V, --version       show the version

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
      if options.checks { return try check(options) }
      if options.salvages { return try salvage(options) }
      let configuration = try options.configuration()
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

  /// Saves what is whole of a damaged store, and tells what is lost.
  private static func salvage(_ options: ServeOptions) throws(StartError) -> Int32 {
    guard case .rocksdb(let path) = try options.configuration().store else {
      throw StartError("--salvage is for a store on disk; name it with --store rocksdb:PATH or --config FILE")
    }
    guard access(path, F_OK) == 0 else { throw StartError("there is no store at \(path)") }
    let report: LogSalvage.Report
    do throws(StoreError) {
      var salvage = LogSalvage(path: path)
      report = try salvage.run(now: EngineClock.wall)
    } catch { throw StartError("the store can't be salvaged: \(error)") }
    guard let copy = report.copy else {
      print("\(path) opens: there is nothing to salvage, and nothing was changed")
      return 0
    }
    for damage in report.damages { print(damage) }
    print("saved \(report.saved) batches of commits from the log; the log as it was is kept in \(copy)")
    if report.subjects.isEmpty {
      print("no subject's name can be read in what is lost")
    } else {
      print("subjects of which something may be lost, \(report.subjects.count):")
      for subject in report.subjects { print("  \(subject)") }
    }
    print("the store opens now; remove \(copy) when you need it no longer")
    return 0
  }

  /// Writes each line of a problem as a line of its own.
  private static func complain(_ problem: String) {
    for text in problem.split(separator: "\n") {
      let line = Array("ruled: \(text)\n".utf8)
      _ = write(2, line, line.count)
    }
  }

  /// Loads all that a start would load, and says what is wrong with it.
  private static func check(_ options: ServeOptions) throws(StartError) -> Int32 {
    let configuration: Configuration
    do throws(StartError) { configuration = try options.configuration() } catch {
      guard error.isFinding else { throw error }
      complain(error.description)
      return 1
    }
    do throws(ReloadError) {
      let catalog = try CatalogBuilder.build(
        try RulesFolder.read(configuration.rules), configuration: configuration.plugins, previous: nil,
        worker: LuaWorker(), now: EngineClock.wall)
      let problems = ConfigurationReview.problems(configuration, catalog)
      for problem in problems {
        let line = options.config.map { ConfigurationFile.line(of: problem.path, in: $0) } ?? 0
        complain(LoadError(file: options.config ?? "", line: line, problem.message).description)
      }
      guard problems.isEmpty else { return 1 }
      print("\(catalog.plugins.count) plugins load, revision \(catalog.revision)")
      return 0
    } catch {
      for problem in error.errors { complain(problem.description) }
      return 1
    }
  }
}
