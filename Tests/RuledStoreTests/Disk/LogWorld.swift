import RuledCore
import TestSupport

@testable import RuledStore

/// A log on a simulated disk, a stand-in for the database that takes segments as RocksDB does, and the model of what was committed.
///
/// Everything happens on one thread and follows from the seed.
final class LogWorld {
  /// The database's part: it takes a segment whole and durably, with its number, or not at all.
  struct Database {
    var exists = false
    var flushed: UInt64 = 0
    var values: [[UInt8]: [UInt8]] = [:]
  }

  /// The state that a start finds.
  struct Found {
    var disk: DiskState
    var database: Database
    var model: CommitModel
    /// Whether the system's cache was still there.
    var keepsCommitted: Bool
  }

  let disk: SimulatedDisk
  private(set) var database: Database
  var model: CommitModel
  private var random: SeededRandom
  private let settings: LogSettings
  /// Whether the page cache was known to hold all commits at some moment, and how many calls had failed then.
  private var trusted: (isWhole: Bool, failures: Int)
  private var log: RedoLog?
  /// The sequences of commits by their numbers.
  private var appended: [Int: UInt64] = [:]
  /// The steps, the earliest first.
  private(set) var notes: [(call: Int, text: String)] = []

  private static let path = "/store"
  private static let logFolder = "/store/log"

  /// A world that begins with that state.
  init(_ found: Found, seed: UInt64, settings: LogSettings) {
    disk = SimulatedDisk(found.disk, seed: seed &+ 1)
    database = found.database
    model = found.model
    trusted = (found.keepsCommitted, 0)
    random = SeededRandom(seed: seed)
    self.settings = settings
  }

  /// A world with an empty disk.
  convenience init(seed: UInt64, settings: LogSettings) {
    var empty = DiskState()
    empty.folders = ["/"]
    self.init(
      Found(disk: empty, database: Database(), model: CommitModel(), keepsCommitted: false), seed: seed,
      settings: settings)
  }

  /// What a start would find after a power cut or a kill now, given the content of the disk.
  func crash(_ state: DiskState, power: Bool, _ random: inout SeededRandom) -> Found {
    Found(
      disk: power ? state.afterPowerCut(&random) : state.afterKill(), database: database, model: model,
      keepsCommitted: !power && keepsCommitted)
  }

  /// Whether commits survive a kill: no call failed since all of them were known to be in the page cache.
  private var keepsCommitted: Bool { trusted.isWhole && trusted.failures == disk.failures }

  private func trustCache() { trusted = (true, disk.failures) }

  private func note(_ text: String) { notes.append((disk.calls.count, text)) }

  // MARK: Starting

  /// Opens the log as a store does; gives what is wrong with its content.
  func open() throws(StoreError) -> String? {
    let folder = Self.path
    let manifest = try openManifest(folder)
    let log = try RedoLog(disk, path: folder, folder: Self.logFolder, manifest: manifest, settings: settings) {
      (segment) throws(StoreError) in take(segment)
    }
    self.log = log
    appended.removeAll()
    let problem = try model.check(keepsCommitted: keepsCommitted) { (key) throws(StoreError) in find(key) }
    trustCache()
    note("opened\(problem.map { ": " + $0 } ?? "")")
    return problem
  }

  private func openManifest(_ folder: String) throws(StoreError) -> LogManifest {
    try disk.createFolder(folder)
    let names = try disk.names(in: folder)
    let isNew = !database.exists && !names.contains(LogManifest.name)
    if isNew {
      try disk.createFolder(Self.logFolder)
      try LogManifest.write(LogManifest.Contents(), to: folder, disk)
    }
    guard let known = try LogManifest.read(disk, folder: folder) else {
      throw StoreError(.corrupt, "\(folder)/\(LogManifest.name) is gone")
    }
    guard database.exists || known.next == 1 else { throw StoreError(.corrupt, "the database is gone") }
    try disk.syncFolder(folder)
    database.exists = true
    guard database.flushed >= known.flushed else { throw StoreError(.corrupt, "the database is older than the log") }
    let manifest = LogManifest(disk, folder: folder, contents: known)
    let flushed = database.flushed
    try manifest.change { $0.flushed = flushed }
    try disk.createFolder(Self.logFolder)
    return manifest
  }

  private func take(_ segment: Segment) {
    for slot in segment.index.slots where slot.offset != 0 {
      let (key, value) = SegmentWrite.entry(at: Int(slot.offset), in: segment.base)
      database.values[Array(key)] = value.map { Array($0) }
    }
    database.flushed = segment.number
  }

  private func find(_ key: [UInt8]) -> [UInt8]? {
    let buffer = ByteBuffer()
    switch key.withView({ log?.segments.find($0, into: buffer) ?? .absent }) {
    case .value: return Array(buffer.bytes)
    case .deleted: return nil
    case .absent: return database.values[key]
    }
  }

  // MARK: Working

  /// Does one random thing that a daemon does; gives what is wrong, if anything is.
  func step() -> String? {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35: append()
    case 35..<55: sync()
    case 55..<68: commit(durable: false)
    case 68..<76: commit(durable: true)
    case 76..<90: flush()
    case 90..<93: try? log?.prepareNext()
    case 93..<96: seal()
    case 96..<98: repair()
    default: return restart()
    }
    return nil
  }

  /// A wait would never end on one thread, so a full backlog is flushed before anything could wait for it.
  private func makeRoom() {
    guard let log else { return }
    let scope = [StoreKey.Kind.timerIndex.rawValue].withView { lower in
      [StoreKey.Kind.timerIndex.rawValue + 1].withView { KeyScope(from: lower, to: $0) }
    }
    while log.segments.flushProblem == nil, log.segments.writes(in: scope).count > settings.longestBacklog { flush() }
  }

  private func next(_ bytes: Int?) -> CommitModel.Commit {
    let chance = Int.random(in: 0..<20, using: &random)
    let most = bytes ?? (chance == 0 ? settings.segmentBytes : chance < 5 ? settings.segmentBytes / 8 : 200)
    return model.next(most: most, &random)
  }

  /// Appends a commit, which the next sync commits.
  func append(bytes: Int? = nil) {
    makeRoom()
    let commit = next(bytes)
    note("append \(commit.number)")
    let set = commit.set
    defer { withExtendedLifetime(set) {} }
    do throws(StoreError) {
      appended[commit.number] = try append(set, isCommitted: false)
    } catch { failed(error, commit) }
  }

  private func append(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
    while let log {
      if let number = try log.appendFrame(set.records, isCommitted: isCommitted) { return number }
      try log.makeRoom(for: set.byteCount)
    }
    return nil
  }

  /// Syncs as the daemon does.
  func sync() {
    note("sync")
    do throws(StoreError) {
      _ = try log?.syncFrames()
      allIsDurable()
    } catch { failed(error) }
  }

  /// Commits, with a sync or without.
  func commit(durable: Bool, bytes: Int? = nil) {
    makeRoom()
    let commit = next(bytes)
    note("commit \(commit.number)\(durable ? " durably" : "")")
    let set = commit.set
    defer { withExtendedLifetime(set) {} }
    do throws(StoreError) {
      _ = try append(set, isCommitted: !durable)
      if durable { _ = try log?.syncFrames() }
      noteCommitted()
      if durable { allIsDurable() } else { model.note(commit.number, .committed) }
    } catch { failed(error, commit) }
  }

  /// Seals the log's active segment, so that it is flushed.
  func seal() {
    makeRoom()
    note("seal")
    do throws(StoreError) {
      try log?.seal()
      allIsDurable()
    } catch { failed(error) }
  }

  private func allIsDurable() {
    model.note(all: [.open, .committed], .durable)
    trustCache()
  }

  /// Notes the appended commits as durable after a sync.
  private func noteCommitted() {
    let committed = log?.committedSequence ?? 0
    for (number, sequence) in appended where sequence <= committed && model.commits[number].fate == .open {
      model.note(number, .durable)
    }
  }

  /// Notes what an error says about the commit and about all that were not committed.
  private func failed(_ error: StoreError, _ commit: CommitModel.Commit? = nil) {
    note("failed\(error.isOutcomeUnknown ? ", fate unknown" : ""): \(error)")
    noteCommitted()
    let fate = error.isOutcomeUnknown ? CommitModel.Fate.unknown : .lost
    if let commit { model.note(commit.number, fate) }
    if error.code != .poisoned, log?.segments.hasUncommitted == false { model.note(all: [.open], fate) }
    if Int.random(in: 0..<4, using: &random) > 0 { repair() }
  }

  /// Repairs the log until it succeeds, as a committer does.
  func repair() {
    for _ in 0..<3 where log?.state.failure != nil {
      note("repair")
      do throws(StoreError) {
        try log?.reopen()
        model.note(all: [.open, .unknown], .lost)
        trustCache()
        note("repaired")
      } catch {
        note("repair failed: \(error)")
        flush()
      }
    }
  }

  /// Does the flush thread's next step.
  func flush() {
    try? log?.prepareNext()
    switch log?.segments.nextWork(within: 0) {
    case .writeZeros:
      note("write zeros")
      log?.writeZeros()
    case .flush(let segment):
      note("flush \(segment.number)")
      do throws(StoreError) {
        let chance = failsDatabase ? Int.random(in: 0..<8, using: &random) : 8
        let error = StoreError(.inputOutput, "the database was made to fail")
        if chance == 0 { throw error }
        take(segment)
        if chance == 1 { throw error }
        try log?.remove(segment)
      } catch {
        note("flush failed: \(error)")
        log?.segments.noteFailedFlush(error)
      }
    case nil: break
    }
  }

  /// Whether the database may fail on a segment, before or after it took it.
  var failsDatabase = false

  private func restart() -> String? {
    note("close")
    if log?.state.failure != nil { repair() }
    seal()
    for _ in 0..<20 { flush() }
    if case .open? = log?.close() { log?.removeFiles() }
    let wasFaulty = disk.failures
    for _ in 0..<6 {
      do throws(StoreError) {
        return try open()
      } catch {
        if disk.failures == wasFaulty { return "a start after an orderly end failed: \(error)" }
        note("open failed: \(error)")
      }
    }
    return "a start failed again and again"
  }
}
