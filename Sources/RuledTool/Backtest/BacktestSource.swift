internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledJournal
internal import RuledReplay
internal import RuledStore

/// Where a backtest takes events and the rules in force from: a file, a running daemon, or a store's folder.
struct BacktestSource {
  /// The rules in force and the configuration of plugins; nil without a daemon and a store.
  let live: RevisionArchive.Revision?
  private let file: String?
  private let journal: String?
  private let since: Timestamp?
  private let until: Timestamp?

  /// The source that the options name.
  ///
  /// - Throws: `UsageError` for options that exclude each other, `ToolError` without a daemon where one is needed.
  init(_ arguments: Arguments, _ environment: ToolEnvironment) throws {
    file = arguments.value("events")
    if file != nil, let option = ["since", "until", "store"].first(where: arguments.has) {
      throw UsageError("--\(option) is for the journal; leave it out with --events, which plays a whole file")
    }
    var (store, revision, now): (String?, String?, Timestamp?) = (arguments.value("store"), nil, nil)
    if let store, access("\(store)/journal", F_OK) != 0 {
      throw ToolError(
        "there is no journal in '\(store)': --store takes the folder that 'store' of the daemon's configuration names after rocksdb:"
      )
    }
    let asksDaemon = file == nil || !arguments.has("baseline") && access(environment.socket, F_OK) == 0
    if store == nil, asksDaemon {
      let daemon = try environment.connect()
      revision = try daemon.call("rules", [:]).member("revision")?.stringValue
      now = try daemon.manualClock()
      do {
        let folder = try daemon.call("journal", [:]).member("folder")?.stringValue
        store = folder.map { String($0.prefix($0.count - "/journal".count)) }
      } catch is DaemonError where file != nil {}
    }
    journal = store.map { "\($0)/journal" }
    since = try Self.time("since", arguments, now)
    until = try Self.time("until", arguments, now)
    live = try store.flatMap { try Self.rules(in: $0, revision) }
  }

  /// The backtest on the chosen events, and the file that they come from; `shouldContinue` is asked while a journal is read, with the number of
  /// entries read.
  func backtest(
    _ selection: SubjectSelection, _ environment: ToolEnvironment, shouldContinue: (_ read: Int) -> Bool
  ) throws(ToolError) -> (JournalBacktest, file: EventLines?) {
    JournalBacktest.removeAbandoned(in: Self.temporary)
    if let file {
      let lines = try EventLines(file, environment)
      return (
        JournalBacktest(
          events: lines, count: lines.estimate, temporary: Self.temporary, contains: { selection.contains($0) }), lines
      )
    }
    let backtest: JournalBacktest
    do throws(StoreError) {
      let source = try FolderJournal(folder: journal ?? "")
      backtest = try JournalBacktest(
        source, since: since, until: until, temporary: Self.temporary, contains: { selection.contains($0) },
        shouldContinue: shouldContinue)
    } catch { throw ToolError("the journal can't be read: \(error)") }
    if let problem = backtest.problem { throw ToolError(problem) }
    return (backtest, nil)
  }

  /// The folder for data that does not fit into memory.
  private static var temporary: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

  /// The sources of a revision in a store's archive; of the last one that was in force without one.
  private static func rules(in store: String, _ revision: String?) throws(ToolError) -> RevisionArchive.Revision? {
    let archive = RevisionArchive(folder: "\(store)/\(RevisionArchive.folder)", toRead: true)
    guard let revision = revision ?? archive.entries.last(where: { $0.origin != .rollout })?.revision else {
      return nil
    }
    do throws(StoreError) { return try archive.load(revision) } catch {
      throw ToolError("the rules of revision \(revision) can't be read: \(error)")
    }
  }

  /// A time of RFC 3339, or how long before `now`, by the daemon's clock.
  private static func time(
    _ option: String, _ arguments: Arguments, _ now: Timestamp?
  ) throws(UsageError) -> Timestamp? {
    guard let text = arguments.value(option) else { return nil }
    if let time = Timestamp(rfc3339: text) { return time }
    guard let ago = DurationText.parse(text) else {
      throw UsageError(
        "--\(option) takes a time such as 2026-03-01T09:00:00Z, or how long ago, such as 7d, not '\(text)'")
    }
    let now = now ?? EngineClock.wall
    return Timestamp(microseconds: now.microseconds - ago)
  }
}

extension SubjectSelection {
  /// The selection that `--subjects` and `--sample` make.
  init(_ arguments: Arguments) throws(UsageError) {
    let sample = arguments.value("sample") ?? "100%"
    guard let selection = Self(prefix: arguments.value("subjects") ?? "", sample: sample) else {
      throw UsageError("--sample takes a share of more than 0 % and at most 100 %, such as 10%, not '\(sample)'")
    }
    self = selection
  }
}
