import Glibc
import RuledCluster
import RuledCore
import RuledEngine
import RuledIO
import RuledJournal
import RuledLua
import RuledNodes
import RuledServing
import RuledStore

package enum ServeCommand {
  package static func run(_ arguments: [String]) -> Int32 {
    let isService = SystemdNotifier.isService
    do throws(StartError) {
      let options = try ServeOptions(arguments)
      guard let code = try runPrinting(options) else { serve(try options.configuration(), options) }
      try StartError.checkPrinted()
      return code
    } catch {
      error.complain(as: "ruled")
      return error.exitCode(isService: isService)
    }
  }

  /// Does what the options ask for besides serving, and prints it; returns the exit code, nil if they ask for nothing.
  private static func runPrinting(_ options: ServeOptions) throws(StartError) -> Int32? {
    if options.arguments.has("help") {
      print(HelpText(program: nil, sharedOptions: ServeOptions.shared).command(ServeOptions.spec), terminator: "")
      return 0
    }
    if options.arguments.has("version") {
      print("ruled \(Version.current)")
      return 0
    }
    try options.checkPurpose()
    if options.arguments.has("check") { return try check(options) }
    if options.arguments.has("salvage") { return try salvage(options) }
    if let backup = options.arguments.value("restore") { return try restore(backup, options) }
    if let store = options.arguments.value("import") { return try importStore(store, options) }
    return nil
  }

  /// Runs the daemon, and ends the process.
  ///
  /// A thread may still load a plugin, or wait for the database of a cluster. The libraries' destructors would take objects away from it, so they
  /// don't run.
  private static func serve(_ configuration: Configuration, _ options: ServeOptions) -> Never {
    let isService = SystemdNotifier.isService
    var code: Int32 = 0
    do throws(StartError) {
      let log = try LogQueue.ofService()
      defer { log.end() }
      try Daemon(
        configuration: configuration, manualClock: options.arguments.has("clock"), log: log,
        readConfiguration: options.configuration
      ).run()
    } catch {
      error.complain(as: "ruled")
      code = error.exitCode(isService: isService)
    }
    fflush(nil)
    _exit(code)
  }

  /// Saves the readable part of a damaged store, and prints the losses.
  private static func salvage(_ options: ServeOptions) throws(StartError) -> Int32 {
    let configuration = try options.configuration()
    guard case .rocksdb(let path) = configuration.store else {
      throw StartError("--salvage is for a store on disk; name it with --store rocksdb:PATH or --config FILE")
    }
    guard access(path, F_OK) == 0 else { throw StartError("there is no store at \(path)") }
    let report: LogSalvage.Report
    do throws(StoreError) {
      var salvage = LogSalvage(path: path)
      let journal = configuration.journal.isOn ? Journal(of: path, settings: configuration.journal) : nil
      report = try FolderOwner.kept(of: path) { () throws(StoreError) in
        let report = try salvage.run(now: EngineClock.wall, journal: journal)
        if let lost = report.lost { journal?.noteSalvage(losing: lost) }
        return report
      }
    } catch { throw StartError("the store can't be salvaged: \(error)") }
    guard let copy = report.copy else {
      print("\(path) opens: there is nothing to salvage, and nothing was changed")
      return 0
    }
    for damage in report.damages { print("\(damage)".withoutSteering) }
    print("saved \(report.saved) batches of commits from the log; the log as it was is kept in \(copy)")
    if report.subjects.isEmpty {
      print("no subject's name can be read in what is lost")
    } else {
      print("subjects of which something may be lost, \(report.subjects.count):")
      for subject in report.subjects { print("  \(subject.printable)") }
    }
    print("the store opens now; remove \(copy) when you need it no longer; the daemon does when it erases a subject")
    return 0
  }

  /// Makes a store of a backup, and prints its size.
  private static func restore(_ backup: String, _ options: ServeOptions) throws(StartError) -> Int32 {
    guard case .rocksdb(let path) = try options.configuration().store else {
      throw StartError("--restore is for a store on disk; name it with --store rocksdb:PATH or --config FILE")
    }
    let report: StoreRestore.Report
    do throws(StoreError) {
      report = try StoreRestore(to: path).run(from: backup) { (store) throws(StoreError) in
        if options.holdsEffects { try EffectsHold.hold(in: store) }
      }
    } catch { throw StartError("the backup can't be restored: \(error)") }
    print("restored \(report.backup) to \(path): \(report.files) files, \(report.bytes) bytes")
    let damages = RevisionArchive.damages(in: "\(path)/\(RevisionArchive.folder)")
    print(
      "\(damages.isEmpty ? "all of it" : "the store") can be read: \(report.entries) entries, \(report.subjects) subjects"
    )
    for damage in damages { print("an earlier revision of the rules can't: \(damage)") }
    if options.holdsEffects { print("no effect is delivered until 'rulectl effects release'") }
    return 0
  }

  /// Copies the store of a single daemon into the empty log of a cluster, and prints its size.
  private static func importStore(_ path: String, _ options: ServeOptions) throws(StartError) -> Int32 {
    let configuration = try options.configuration()
    guard case .postgresql(let url) = configuration.store else {
      throw StartError(
        "--import fills the log of a cluster; name its database with --store postgresql://… or --config FILE")
    }
    guard access("\(path)/CURRENT", F_OK) == 0 else { throw StartError("there is no store at \(path)") }
    let start = ClusterStart(url, configuration, log: StandardErrorLog())
    let report: StoreImport.Report
    do throws(StoreError) {
      // Entries in the log that the journal lacks stay with the old store.
      let journal = configuration.journal.isOn ? Journal(of: path, settings: configuration.journal) : nil
      report = try FolderOwner.kept(of: path) { () throws(StoreError) in
        let store = try RocksStore(path: path, journal: journal)
        let report = try StoreImport(start.settings, node: start.identity).run(from: store) {
          print("copied \($0.entries) entries, \($0.bytes >> 20) MiB")
        }
        try store.close()
        return report
      }
    } catch {
      let doubt = error.isOutcomeUnknown ? "; it may be there all the same: run this again, which says so" : ""
      throw StartError("the store can't be copied into the log of the cluster: \(error)\(doubt)")
    }
    print(
      "copied \(path) into the log of the cluster: \(report.entries) entries, \(report.bytes) bytes, in one transaction"
    )
    print("start the nodes, each with an empty folder; no daemon may serve \(path) any more")
    return 0
  }

  /// Writes findings on standard error as `rulectl check` writes them: `file:line: message`, one a line.
  private static func report(_ findings: String) {
    let text = Array((findings.withoutSteering + "\n").utf8)
    _ = write(2, text, text.count)
  }

  /// Reports the problems of the configuration, in the order of the lines.
  private static func report(_ problems: [ConfigurationProblem], _ options: ServeOptions, areNotes: Bool = false) {
    let located = problems.map { problem in
      let line = options.config.map { ConfigurationFile.line(of: problem.path, in: $0) } ?? 0
      return LoadError(file: options.config ?? "", line: line, (areNotes ? "note: " : "") + problem.message)
    }
    for error in located.sorted(by: { $0.line < $1.line }) { report(error.description) }
  }

  /// Loads the configuration and the rules as a start does, reviews the host, the database and the process's limits, and prints the
  /// problems.
  private static func check(_ options: ServeOptions) throws(StartError) -> Int32 {
    let configuration: Configuration
    do throws(StartError) { configuration = try options.configuration() } catch {
      guard error.isFinding else { throw error }
      report(error.description)
      return 1
    }
    var notes: [ConfigurationProblem] = []
    do throws(StartError) {
      _ = try ProcessLimits.check(configuration) { notes.append(ConfigurationProblem(path: ["limits"], message: $0)) }
    } catch {
      // The rest of the check would lack the same resources.
      report([ConfigurationProblem(path: ["limits"], message: error.description)], options)
      return 1
    }
    var others = AddressReview(configuration, inherited: SocketActivation.inheritedSockets()).problems
    if case .rocksdb(let path) = configuration.store, let problem = StoreReview.problem(of: path) {
      others.append(ConfigurationProblem(path: ["store"], message: "store: \(problem)"))
    }
    if let folder = configuration.storeFolder.map({ "\($0)/\(Journal.folderName)" }), access(folder, F_OK) == 0 {
      func note(_ message: String) {
        notes.append(ConfigurationProblem(path: ["journal"], message: "journal: \(message)"))
      }
      if access(folder, R_OK | W_OK | X_OK) != 0 { note("\(SystemError(errno, call: "access", context: folder))") }
      do throws(StoreError) {
        for gap in try FolderJournal(folder: folder).gaps where gap.isDamage {
          note("sequences \(gap.first) to \(gap.last) are lost: \(gap.reason)")
        }
      } catch { note(error.description) }
    }
    let database = database(of: configuration)
    others += (database?.problems ?? []).map { ConfigurationProblem(path: ["store"], message: "store: \($0)") }
    do throws(ReloadError) {
      let catalog = try CatalogBuilder.build(
        try RulesFolder.read(configuration.rules), configuration: configuration.plugins, previous: nil,
        worker: LuaWorker(), checksFiles: true, now: EngineClock.wall)
      let sinks = catalog.plugins.flatMap(\.manifest.sinks)
      let review = HostReview(configuration, sinks: sinks)
      let problems = catalog.problems(in: configuration) + review.problems + others
      report(problems, options)
      report(review.notes + notes, options, areNotes: true)
      guard problems.isEmpty else { return 1 }
      print("\(catalog.plugins.count) plugins load, revision \(catalog.revision)")
      if let promise = database?.promise { print(promise) }
      return 0
    } catch {
      for problem in error.errors { report(problem.description) }
      report(HostReview(configuration, sinks: nil).problems + others, options)
      return 1
    }
  }

  /// The review of a node's database; nil for a daemon with a store of its own.
  private static func database(of configuration: Configuration) -> DatabaseReview? {
    guard case .postgresql(let url) = configuration.store else { return nil }
    return DatabaseReview(ClusterStart(url, configuration, log: StandardErrorLog()).settings)
  }
}

struct ServeOptions {
  /// The options and the help of `ruled`.
  ///
  /// An option with a value may be given again; the last value counts.
  static let spec = CommandSpec(
    "ruled", "Serves decisions on events, by rules in Lua.",
    synopsis: [
      "[--config FILE] [--rules DIR] [--store URL] [--socket PATH] [--clock manual]", "--check [OPTION …]",
      "--salvage [OPTION …]", "--restore DIR [--hold-effects] [OPTION …]", "--import DIR [OPTION …]",
    ],
    options: [
      OptionSpec(
        "config", short: "c", value: "FILE", "The configuration, a Lua file; see ruled.conf(5).", completes: .files,
        repeats: true),
      OptionSpec("rules", short: "r", value: "DIR", "The rules folder.", completes: .folders, repeats: true),
      OptionSpec(
        "store", short: "s", value: "URL",
        "rocksdb:PATH, memory: to keep nothing on disk, or postgresql://… for a node of a cluster.", repeats: true),
      OptionSpec("socket", short: "S", value: "PATH", "The Unix socket to serve on.", completes: .files, repeats: true),
      OptionSpec(
        "clock", value: "manual", "For tests: time stands still until 'rulectl clock' moves it.",
        completes: .words(["manual"]), repeats: true),
      OptionSpec(
        "check",
        "Checks the configuration, the rules, the files, folders and accounts that they name, and a node's database; then ends."
      ),
      OptionSpec("salvage", "Saves what can be read of a damaged store that does not open, and ends."),
      OptionSpec(
        "restore", value: "DIR", "Makes a store of the latest backup in DIR, or of the backup DIR, and ends.",
        completes: .folders, repeats: true),
      OptionSpec("hold-effects", "With --restore: no effect is delivered until 'rulectl effects release'."),
      OptionSpec(
        "import", value: "DIR", "Copies the store of a single daemon into the empty log of a cluster, and ends.",
        completes: .folders, repeats: true),
    ],
    details: """
      Options override the configuration. The exit code is 0 after a shutdown that was asked for, 1 when --check found
      something wrong, 2 when the daemon cannot start; 78 instead of 2 as a service of systemd, if a restart would meet
      the same.
      """,
    examples: [
      .init("ruled --rules rules --store rocksdb:var/store --socket var/ruled.sock", "serves from this folder"),
      .init("ruled --config /etc/ruled/ruled.conf.lua --check", "before a restart"),
    ])

  /// The options of `ruled` that `rulectl` has, too.
  static let shared = [OptionSpec.help, .version]

  let arguments: Arguments

  var holdsEffects: Bool { arguments.has("hold-effects") }
  var config: String? { arguments.value("config") }

  init(_ words: [String]) throws(StartError) {
    do throws(UsageError) {
      arguments = try ArgumentParser.parse(words[...], options: Self.spec.options + Self.shared, takesOperands: false)
      if !arguments.has("help") { try Self.spec.checkOperands(of: arguments, program: nil) }
    } catch { throw StartError(error.message, isLasting: true) }
    if let clock = arguments.value("clock"), clock != "manual" {
      throw StartError("--clock takes only 'manual', not '\(clock)'; leave it out to use the host's clock")
    }
  }

  /// Refuses options that ask for different things.
  func checkPurpose() throws(StartError) {
    let purposes = ["check", "salvage", "restore", "import"].filter { arguments.has($0) }.map { "--\($0)" }
    guard purposes.count < 2 else {
      throw StartError("\(purposes.joined(separator: " and ")) don't go together; give one of them", isLasting: true)
    }
    guard !holdsEffects || arguments.has("restore") else {
      throw StartError("--hold-effects belongs to --restore DIR", isLasting: true)
    }
  }

  /// The configuration file's values, overridden by the command line's.
  func configuration() throws(StartError) -> Configuration {
    var configuration = Configuration()
    if let config {
      do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(config) } catch {
        let isThere = access(config, R_OK) == 0
        var refusal = StartError(error.description, isFinding: isThere, isLasting: isThere)
        refusal.errors = ReloadError(error.errors).json
        throw refusal
      }
      configuration.file = config
    }
    if let rules = arguments.value("rules") { configuration.rules = rules }
    if let socket = arguments.value("socket") { configuration.socket = socket }
    if let store = arguments.value("store") {
      guard let url = StoreURL(store) else {
        throw StartError("--store '\(store)' is no store; use rocksdb:PATH, memory: or postgresql://…", isLasting: true)
      }
      configuration.store = url
    }
    if let problem = configuration.storeProblem {
      throw StartError("\(problem.key): \(problem.message)", isFinding: true, isLasting: true)
    }
    return configuration
  }
}
