import Glibc
import RuledCore
import RuledEngine
import RuledIO
import RuledJournal
import RuledLua
import RuledReplay
import RuledStore
import RuledThreads
import Synchronization

/// A candidate that sees live events off their path: a thread of low priority that follows the journal with a world of its own.
///
/// Nothing of that world leaves it. Its memory is bounded: the caches of its store, the comparison's tables, and the entries of one step.
final class Shadow: Sendable {
  /// The rules on trial.
  let rules: RevisionArchive.Revision
  private let context: EngineContext
  private let live: @Sendable () -> Catalog?
  private let journal: JournalService
  private let share: SubjectShare
  private let since: Timestamp
  /// From how far behind on subjects are skipped, in microseconds; a manual clock does not tell.
  private let mostLag: Int64
  private let isStopping = Atomic<Bool>(false)
  private let condition = Condition()
  private nonisolated(unsafe) var state: State  // guarded by `condition`
  /// The state as of the last look at it.
  private let known: Mutex<State>
  /// The copy of the store that the world began with.
  private nonisolated(unsafe) var copy: StoreCopy?  // of the shadow's thread alone

  private struct State: Sendable {
    var hasEnded = false
    var found: JSONObject = [:]
    /// The sequence of the last entry that `found` tells of.
    var last: UInt64
    var skipped = 0
    /// The age of the event played last, in microseconds, as of `looked`; nil before the first, and with a manual clock.
    var behind: Int64?
    /// When the thread looked for entries last, by the monotonic clock in nanoseconds.
    var looked = EngineClock.monotonic
    var times: RunTimes
    var error: String?
  }

  /// The most entries read at a time.
  private static let mostEntries = 5_000
  /// The wait before the thread looks for further entries, in microseconds; entries wait twice as long for later ones.
  private static let period: UInt32 = 250_000
  /// The time between two summaries while events keep coming, in nanoseconds.
  private static let reportPeriod: UInt64 = 1_000_000_000
  /// How long the bytes of a forgotten subject may stay in the world's store, in nanoseconds.
  private let erasingPeriod: UInt64
  /// How long the thread may be without a processor before that counts as being behind, in nanoseconds.
  private static let longestPause: UInt64 = 1_000_000_000
  /// How long a look at the state waits for the thread, which may have lost its processor while it changes it, in milliseconds.
  private static let longestLook = 100

  /// Begins to follow the journal; `percent` is the share of the subjects, 0 to 100.
  ///
  /// It sees every event that is committed afterwards.
  init(
    _ rules: RevisionArchive.Revision, percent: Double, _ journal: JournalService, _ context: EngineContext,
    priority: Thread.Priority = .idle, erasingEvery period: UInt64 = 12 * 3_600 * 1_000_000_000,
    besides live: @escaping @Sendable () -> Catalog?
  ) throws(StoreError) {
    self.rules = rules
    self.context = context
    self.live = live
    self.journal = journal
    erasingPeriod = period
    share = SubjectShare(percent: percent, revision: rules.entry.revision)
    since = context.clock.now
    mostLag = Int64(context.configuration.limits.shadowSeconds) * 1_000_000
    let (copy, last) = try StoreCopy.snapshot(of: journal.store, in: journal.journal.folder, name: "shadow")
    self.copy = copy
    let state = State(last: last, times: RunTimes(besides: live()))
    self.state = state
    known = Mutex(state)
    do throws(SystemError) {
      _ = try Thread.start(name: "ruled-shadow", priority: priority) { [self] in run(after: last) }
    } catch { throw StoreError(.closed, "the thread can't be started: \(error)") }
  }

  /// The state, or what is known of it while the thread changes it.
  private func look() -> State {
    known.withLock { known in
      if let state = condition.wait(milliseconds: Self.longestLook, for: { self.state }) { known = state }
      return known
    }
  }

  var figures: (found: JSONObject, skipped: Int, behind: Int64?, plugins: [Catalog.Plugin], isUp: Bool) {
    let state = look()
    let plugins = state.times.changed(from: live())
    return (state.found, state.skipped, behind(state), plugins, state.error == nil)
  }

  /// How far it is behind, in microseconds; it falls further behind while its thread gets no processor.
  private func behind(_ state: State) -> Int64? {
    let pause = EngineClock.monotonic &- state.looked
    guard pause > Self.longestPause, !state.hasEnded, !context.clock.isManual else { return state.behind }
    return (state.behind ?? 0) + Int64(pause / 1000)
  }

  /// The share of the subjects, 0 to 100.
  var percent: Double { share.percent }

  /// The revision of the rules on trial.
  var revision: String { rules.entry.revision }

  var status: JSONValue {
    let state = look()
    let behind = behind(state).map { JSONValue.number(Double($0 / 100_000) / 10) } ?? .null
    var status: JSONObject = [
      "candidate": .string(rules.entry.revision), "since": .string(since.rfc3339), "percent": .shortest(share.percent),
      "events": 0, "skipped": .integer(Int64(state.skipped)), "subjects": 0, "outcomes": ["equal": 0, "changed": 0],
      "behind_s": behind, "run_times": state.times.json(besides: live()), "decisions": [], "examples": [],
    ]
    for member in state.found { status[member.name] = member.value }
    status["examples"] = .array(examples(state))
    if let error = state.error { status["error"] = .string(error) }
    return .object(status)
  }

  /// The examples, without those of subjects that were forgotten since.
  private func examples(_ state: State) -> [JSONValue] {
    guard let examples = state.found["examples"]?.arrayValue, !examples.isEmpty else { return [] }
    var range = JournalRange()
    range.first = state.last + 1
    var forgotten: Set<String> = []
    do throws(StoreError) {
      try journal.source.forEach(in: range) { entry in
        if entry.origin == .forget { forgotten.insert(entry.subject) }
        return true
      }
    } catch { return [] }
    return examples.filter { !forgotten.contains($0["subject"]?.stringValue ?? "") }
  }

  /// Ends the thread, and waits until it no longer uses the store; with `milliseconds` no longer than that, as a busy host may give it no processor.
  ///
  /// Returns whether it has ended.
  @discardableResult
  func stop(within milliseconds: Int?) -> Bool {
    isStopping.store(true, ordering: .relaxed)
    let hasEnded = { self.state.hasEnded ? true : nil }
    guard let milliseconds else { return condition.wait(for: hasEnded) }
    return condition.wait(milliseconds: milliseconds, for: hasEnded) ?? false
  }

  private func run(after last: UInt64) {
    do {
      if let copy { try follow(from: copy.folder, after: last) }
    } catch {
      condition.signal { state.error = "\(error)" }
      context.log.error("the shadow of revision \(rules.entry.revision) ended: \(error)")
    }
    // The next shadow's copy has the same folder, so this one is removed before the end is announced.
    copy = nil
    condition.signal { state.hasEnded = true }
  }

  private func follow(from folder: String, after sequence: UInt64) throws {
    var last = sequence
    let base = try RocksStore(path: folder)
    defer { try? base.close() }
    let lua = LuaWorker()
    let catalog = try CatalogBuilder.build(
      rules.rules, configuration: rules.configuration, previous: nil, worker: lua, now: since)
    let world = try ShadowWorld(rules: catalog, on: share, lua: lua, base: base, configuration: context.configuration)
    condition.signal { state.times = state.times.of(catalog) }
    var waiting: [JournalEntry] = []
    var (earlier, reported, played) = (0, UInt64(0), sequence)
    // The copy shares files with the store, which may still have bytes of subjects that were forgotten before.
    var (mustErase, erased) = (true, EngineClock.monotonic)
    let clock = context.clock
    while !isStopping.load(ordering: .relaxed) {
      condition.locked { state.looked = EngineClock.monotonic }
      let ready = waiting.prefix(earlier)
      earlier = waiting.count - earlier
      last = waiting.last?.sequence ?? last
      waiting += try entries(after: last)
      if let first = ready.first, !clock.isManual, clock.now.microseconds - first.at.microseconds > mostLag {
        defer { condition.signal { state.skipped = world.skipped.count } }
        try world.skip(Array(ready))
      } else {
        try world.play(Array(ready), before: Array(waiting.dropFirst(ready.count)))
        played = ready.last?.sequence ?? played
        let behind = clock.isManual ? nil : ready.last.map { clock.now.microseconds - $0.at.microseconds }
        // Adding up the findings takes longer the more subjects there are.
        let now = EngineClock.monotonic
        let isDue = waiting.count == ready.count || now >= reported + Self.reportPeriod
        let found = isDue ? world.found : nil
        if isDue { reported = now }
        condition.signal {
          if let found { (state.found, state.last) = (found, played) }
          state.behind = behind ?? state.behind
        }
      }
      mustErase = mustErase || ready.contains { $0.origin == .forget }
      if mustErase, EngineClock.monotonic >= erased + erasingPeriod {
        try base.compact()
        (mustErase, erased) = (false, EngineClock.monotonic)
      }
      waiting.removeFirst(ready.count)
      if waiting.count < Self.mostEntries { usleep(Self.period) }
    }
  }

  private func entries(after last: UInt64) throws(StoreError) -> [JournalEntry] {
    var range = JournalRange()
    range.first = last + 1
    var found: [JournalEntry] = []
    try journal.source.forEach(in: range) { entry in
      found.append(entry)
      // The data that a subject keeps when its past is erased are the entry after that, and are played with it.
      return found.count < Self.mostEntries || entry.origin == .forget
    }
    return found
  }
}

/// A shadow that was told to end: its thread alone keeps it.
struct StoppedShadow {
  weak var shadow: Shadow?
}
