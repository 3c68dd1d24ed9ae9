internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledJournal
internal import RuledLua
internal import RuledReplay
internal import RuledReports

/// Plays the events of a backtest on both sides, with progress, until they end or the user interrupts.
final class BacktestRun {
  /// Where the events come from.
  enum Events {
    /// From a file, to be played from empty states.
    case file(String)
    case journal(JournalBacktest)
  }

  private let events: Events
  private let rules: BacktestRules
  private let selection: SubjectSelection
  private let environment: ToolEnvironment
  private let watch: BacktestWatch
  private var found: JournalBacktest.Found?

  /// A run that has not begun.
  init(
    _ events: Events, _ rules: BacktestRules, _ selection: SubjectSelection, _ environment: ToolEnvironment,
    _ watch: BacktestWatch
  ) {
    self.events = events
    self.rules = rules
    self.selection = selection
    self.environment = environment
    self.watch = watch
  }

  /// The parts of the history that are missing.
  var gaps: [JournalGap] { if case .journal(let journal) = events { journal.gaps } else { [] } }

  /// What was compared so far.
  var result: ComparisonResult { (found?.comparison ?? Comparison()).result }

  /// Plays all events; false when the user interrupted.
  func play() throws -> Bool {
    defer { watch.clear() }
    let found =
      switch events {
      case .file(let path): try playFile(path)
      case .journal(let journal):
        try journal.play(
          load(warmsUp: true), threads: Self.processors,
          shouldContinue: { watch.shouldContinue(share: Double($0) / Double(max(journal.count, 1)), count: $0) })
      }
    self.found = found
    return found.isWhole
  }

  /// Plays the events once more to explain some of those that came out differently; none where they can't be read twice.
  func examples(of result: ComparisonResult) throws -> [BacktestExample] {
    if case .file("-") = events { return [] }
    defer { watch.clear() }
    let search = ExampleSearch(for: result)
    guard !search.isComplete else { return [] }
    switch events {
    case .file(let path):
      try backtest(of: EventLines(path, environment)).withSides(load(warmsUp: false)) { sides in
        _ = try forEachEvent(of: path, { !search.isComplete }) { entry in
          try search.look(at: entry, sides)
          try sides.play(entry, isCompared: true)
          return true
        }
      }
    case .journal(let journal):
      try journal.playInOrder(
        load(warmsUp: true),
        shouldContinue: {
          !search.isComplete
            && watch.shouldContinue(share: Double($0) / Double(max(journal.count, 1)), count: $0)
        }, before: search.look)
    }
    return search.found
  }

  private func load(warmsUp: Bool) -> Replay.Rules {
    { [rules] in rules.load($0, warmsUp: warmsUp) }
  }

  /// How many processors there are; several play at once.
  private static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  // MARK: A file

  private func playFile(_ path: String) throws -> JournalBacktest.Found {
    // Standard input can't be read a second time, should its subjects turn out to depend on each other.
    let threads = path == "-" ? 1 : Self.processors
    return try backtest(of: EventLines(path, environment)).play(load(warmsUp: false), threads: threads) { play in
      try forEachEvent(of: path, { true }, play)
    }
  }

  private func backtest(of lines: EventLines) -> EventsBacktest {
    EventsBacktest(temporary: BacktestSource.temporary, count: lines.estimate)
  }

  /// Calls `play` with each chosen event of a file until it, `shouldContinue` or the user ends it; whether these were all events.
  private func forEachEvent(
    of path: String, _ shouldContinue: () -> Bool, _ play: (JournalEntry) throws -> Bool
  ) throws -> Bool {
    var lines = try EventLines(path, environment)
    var played = 0
    while let entry = try lines.next() {
      if played & 255 == 0, !shouldContinue() || !watch.shouldContinue(share: lines.share, count: played) {
        return false
      }
      guard selection.contains(entry.subject) else { continue }
      guard try play(entry) else { return true }
      played += 1
    }
    return true
  }
}

/// Shows how far a backtest is, and notices that the user interrupts it.
final class BacktestWatch {
  private let interrupt = Interrupt()
  private var progress: Progress
  /// How many events were played when it was asked last.
  private(set) var count = 0

  /// A watch of a backtest that begins now.
  init(_ environment: ToolEnvironment) { progress = Progress(environment) }

  deinit { interrupt.end() }

  /// Shows how many events were read or played; false once the user has interrupted.
  func shouldContinue(share: Double?, count: Int) -> Bool {
    self.count = count
    progress.show(share: share, count: count, "event")
    return !interrupt.hasCome
  }

  func clear() { progress.clear() }
}

/// The rules of both sides of a backtest, to be loaded as often as worlds need them.
struct BacktestRules: Sendable {
  /// The rules of the one side.
  let baseline: RulesSource
  /// The rules of the other.
  let candidate: RulesSource
  /// The candidate's folder, as it was named.
  let folder: String
  /// What the daemon has configured for plugins, for both sides.
  let configuration: [String: Configuration.Plugin]

  /// The rules that the options name.
  ///
  /// - Parameters:
  ///   - arguments: the command line.
  ///   - live: the rules in force and their configuration; nil where no daemon and no store is at hand.
  /// - Throws: `ToolError` for a folder that can't be read, `UsageError` for a plugin that is in neither folder.
  init(_ arguments: Arguments, live: (rules: RulesSource, configuration: [String: Configuration.Plugin])?) throws {
    folder = arguments.operand(0) ?? "rules"
    configuration = live?.configuration ?? [:]
    if let live, !arguments.has("baseline") {
      baseline = live.rules
    } else {
      baseline = try Self.source(RulesSelection(arguments.value("baseline") ?? "rules"))
    }
    let selection = try RulesSelection(folder)
    let named = arguments.value("plugins")?.split(separator: ",").map(String.init)
    let chosen = named ?? selection.plugins.map { $0.sorted() }
    candidate = try Self.replace(chosen, of: baseline, by: try Self.source(selection), in: folder)
  }

  /// Loads the rules of both sides; each world needs catalogs of its own.
  ///
  /// - Parameters:
  ///   - worker: that of the thread whose worlds get them.
  ///   - warmsUp: whether events are played before the range.
  /// - Returns: the rules, or why they don't load.
  func load(_ worker: LuaWorker, warmsUp: Bool) -> Result<Sides.Rules, RequestError> {
    do throws(ToolError) {
      return .success(
        Sides.Rules(
          baseline: try load(baseline, worker), warmUp: warmsUp ? try load(baseline, worker) : nil,
          candidate: try load(candidate, worker)))
    } catch { return .failure(RequestError(.unavailable, error.message)) }
  }

  /// The revision that rules have with the configuration.
  func revision(of rules: RulesSource) throws(ToolError) -> String { try load(rules, LuaWorker()).revision }

  private func load(_ source: RulesSource, _ worker: LuaWorker) throws(ToolError) -> Catalog {
    do throws(ReloadError) {
      return try CatalogBuilder.build(
        source, configuration: configuration, previous: nil, worker: worker, now: Timestamp(microseconds: 0))
    } catch { throw Self.error(error) }
  }

  /// The old rules with the chosen plugins of the new ones; all of the new ones when none are chosen.
  private static func replace(
    _ chosen: [String]?, of old: RulesSource, by new: RulesSource, in folder: String
  ) throws(UsageError) -> RulesSource {
    guard let chosen else { return new }
    let names = new.plugins.map(\.name)
    for name in chosen where !names.contains(name) && !old.plugins.contains(where: { $0.name == name }) {
      throw UsageError(
        "'\(folder)' has no plugin '\(name)'"
          + NearestName.hint(name, in: names, otherwise: "name one of its folders"))
    }
    return old.taking(chosen, from: new)
  }

  private static func source(_ selection: RulesSelection) throws(ToolError) -> RulesSource {
    do throws(ReloadError) { return try selection.read() } catch { throw Self.error(error) }
  }

  private static func error(_ error: ReloadError) -> ToolError {
    ToolError("the rules do not load: " + error.errors.map(\.description).joined(separator: "; "))
  }
}
