import RuledCore
import RuledThreads
import Synchronization

/// The log that makes commits durable and answers for them until they stand in the database's files.
///
/// A commit is one write to the active segment; it counts, and is found, once it has been accepted. A full segment is sealed and left to the drain, which
/// brings what it left behind into the database and then removes it. Reads ask the segments first, the latest before the others.
///
/// A segment ends with its seal, or where the header of the next one says: so a segment whose file failed is ended by a write to another file.
final class RedoLog: @unchecked Sendable {  // segments and what counts of them are guarded by `indexLock`
  private let folder: String
  private let settings: LogSettings
  private let manifest: LogManifest
  private let indexLock = ReadWriteLock()
  private let changed = Condition()
  private let maker: SegmentMaker
  /// What was left out at the end of the log when it was opened, for the operator.
  let openingNote: String?
  private var active: Segment
  private var file: SegmentFile
  private var sealed: [Segment]
  /// Why the earliest segment could not be brought into the database the last time; guarded by `changed`.
  private var drainError: StoreError?
  private var isClosed = false
  /// Whether a write or a sync of the active segment's file failed, so that nothing more is appended there.
  private var hasFailed = false
  /// Whether something was written that no sync has begun to bring to the disk.
  private var isUnsynced = false

  /// What is known of writing ahead to the next segment's file; guarded by `changed`.
  private var ahead = Ahead.idle
  /// Whether the next segment is better than the active one, since its file was written to ahead of time.
  private let isNextBetter = Atomic(false)

  /// How far the writing ahead is.
  private enum Ahead { case idle, wanted, done }

  /// The log in `folder` of the store whose manifest that is, with what an earlier process left there.
  ///
  /// Where that is more than is held at a time, `drain` brings the earliest segment into the database.
  init(
    _ files: any FileSystem, folder: String, manifest: LogManifest, settings: LogSettings = LogSettings(),
    drain: (Segment) throws(StoreError) -> Void
  ) throws(StoreError) {
    self.folder = folder
    self.settings = settings
    self.manifest = manifest
    let memory = SegmentMemoryPool(settings)
    let recovery = LogRecovery(files, folder: folder, manifest: manifest, settings: settings, memory: memory)
    let recovered = try recovery.run { (segment) throws(StoreError) in
      try drain(segment)
      try manifest.change { $0.drained = segment.number }
    }
    sealed = recovered.segments
    openingNote = recovered.note
    maker = SegmentMaker(
      files, folder: folder, settings: settings, manifest: manifest, memory: memory,
      after: (recovered.last, recovered.end))
    (active, file) = try maker.successor(for: 0)
    recovery.removeLeftovers(keeping: sealed.map(\.number) + [active.number])
  }

  /// Where the file of a segment lies.
  static func path(_ number: UInt64, in folder: String) -> String {
    let digits = String(number)
    return "\(folder)/\(String(repeating: "0", count: max(0, 10 - digits.count)))\(digits).log"
  }

  /// How many bytes the segments hold.
  var byteCount: Int {
    indexLock.reading { sealed.reduce(active.used) { $0 + $1.used } }
  }

  // MARK: Appending, under the caller's lock on the log's end

  /// Whether a commit of so many bytes fits into the active segment, and there is no better one.
  func hasRoom(for payload: Int) -> Bool {
    active.hasRoom(for: payload) && !isNextBetter.load(ordering: .relaxed)
  }

  /// Whether there are commits that do not count yet.
  var hasUncounted: Bool { indexLock.reading { active.used < active.end } }

  /// Appends a commit, for which there must be room and which does not count yet; after an error it will not be found by a start, unless the error says that this
  /// is not known, and `repair` must succeed before the next.
  func append(_ records: UnsafeRawBufferPointer) throws(StoreError) {
    let frame = active.stage(records)
    do throws(StoreError) { try file.write(frame, at: active.end) } catch {
      hasFailed = true
      var error = error
      error.isOutcomeUnknown = file.mayHold(frame, at: active.end)
      throw error
    }
    let wasBusy = active.end >= settings.busyBytes
    active.keep(frame)
    isUnsynced = true
    if !wasBusy, active.end >= settings.busyBytes { changed.signal { if ahead == .idle { ahead = .wanted } } }
  }

  /// Lets everything count that was appended, durable or not.
  func acceptAll() {
    file.handOn()
    indexLock.writing { active.accept(to: active.end) }
  }

  // MARK: Syncing, by one thread at a time

  /// What a sync would bring to the disk.
  struct Unsynced {
    fileprivate let segment: Segment
    fileprivate let end: Int
    /// The file that is to be synced.
    let file: SegmentFile
  }

  /// What has been written and not been given to a sync, under the lock on the log's end; nil when there is nothing.
  func takeUnsynced() -> Unsynced? {
    guard isUnsynced else { return nil }
    isUnsynced = false
    return Unsynced(segment: active, end: active.end, file: file)
  }

  /// Lets count what was synced.
  func accept(_ synced: Unsynced) { indexLock.writing { synced.segment.accept(to: synced.end) } }

  /// Notes how far the file is durable now, under the lock on the log's end.
  ///
  /// The frames to come say so; where none has come, a mark does, so that damage before it is not taken for the log's end.
  func noteDurable(_ synced: Unsynced) {
    synced.segment.durable = synced.end
    guard synced.segment === active, active.end == synced.end, !hasFailed else { return }
    try? file.write(active.stageNote(.mark), at: active.end)
  }

  /// Forgets what does not count, after a failed sync and under the lock on the log's end: the system may have dropped any of it.
  func lose() {
    hasFailed = true
    indexLock.writing { active.dropUncounted() }
  }

  // MARK: Segments, while nobody appends or syncs

  /// Seals the active segment, unless it is empty, and begins the next; everything in it must count.
  func rotate(for payload: Int = 0) throws(StoreError) {
    guard !active.isEmpty || !active.hasRoom(for: payload) else { return }
    try awaitBacklog(below: settings.longestBacklog)
    let made = try maker.successor(for: payload)
    do throws(StoreError) {
      try file.write(active.stageNote(.seal), at: active.end)
      try file.sync()
    } catch {
      hasFailed = true
      maker.takeBack(made, after: active.number)
      throw error
    }
    active.durable = active.end
    isUnsynced = false
    file = made.file
    advance(to: made.segment)
  }

  /// Goes on with another segment after a failure, so that nothing of what failed counts after a crash either.
  ///
  /// The other segment's header says that this one ends where it was durable, and what counts beyond that begins it. Must be repeated when it fails: then
  /// it is not known whether what was appended and does not count will be found by the next start.
  func repair() throws(StoreError) {
    if let problem = fullBacklog { throw problem }
    guard hasFailed else { return }
    indexLock.writing { active.dropUncounted() }
    let durable = active.durable
    let made = try maker.replacement(after: active.number, endingAt: durable, for: active.used - durable)
    let (segment, target) = made
    var problem: StoreError?
    do throws(StoreError) {
      active.forEachCommit(from: durable) { payload in
        let frame = segment.stage(payload)
        do throws(StoreError) { if problem == nil { try target.write(frame, at: segment.end) } } catch {
          problem = error
        }
        segment.keep(frame)
      }
      if let problem { throw problem }
      if !segment.isEmpty { try target.sync() }
      try maker.join(made)
    } catch {
      maker.giveUp(made, after: active.number, endingAt: durable)
      throw error
    }
    segment.durable = segment.end
    indexLock.writing { segment.accept(to: segment.end) }
    hasFailed = false
    isUnsynced = false
    file = target
    advance(to: segment)
  }

  /// Whether a failure has not been repaired, so that it is not known what the next start will find of it.
  var isBroken: Bool { hasFailed }

  /// Makes the next segment ahead of time, if there is none, so that no commit has to wait for it.
  func prepare() throws(StoreError) { try maker.prepare() }

  /// Gives back memory that is kept for segments to come.
  func releaseMemory() { maker.releaseMemory() }

  private func advance(to next: Segment) {
    indexLock.writing {
      sealed.append(active)
      active = next
    }
    isNextBetter.store(false, ordering: .relaxed)
    changed.signal { ahead = .idle }
  }

  // MARK: Reading

  /// What the log says about a key, its value appended to `buffer`.
  func find(_ key: UnsafeRawBufferPointer, into buffer: ByteBuffer) -> Found {
    indexLock.reading {
      var found = active.lookup(key)
      var older = sealed.count
      while case .absent = found, older > 0 {
        older -= 1
        found = sealed[older].lookup(key)
      }
      switch found {
      case .absent: return .absent
      case .deleted: return .deleted
      case .value(let value):
        buffer.append(value)
        return .value
      }
    }
  }

  /// What the log says about a key.
  enum Found {
    /// Nothing: the database knows.
    case absent
    /// It was removed.
    case deleted
    /// It has a value.
    case value
  }

  /// The writes on keys of a scope as they are now, the latest segment first.
  func writes(in scope: KeyScope?) -> [(segment: Segment, writes: OrderedWrites)] {
    indexLock.reading { ([active] + sealed.reversed()).map { ($0, $0.writes(in: scope)) } }
  }

  // MARK: Draining

  /// What there is to do in the background.
  enum Work {
    /// The earliest sealed segment is to be brought into the database.
    case drain(Segment)
    /// The next segment's file is to be written to ahead of time.
    case writeAhead
  }

  /// Waits for something to do, at most so many milliseconds; nil when there is nothing or the log is closed.
  func nextWork(within milliseconds: Int) -> Work? {
    changed.wait(milliseconds: milliseconds) { () -> Work?? in
      if isClosed { return .some(nil) }
      if ahead == .wanted { return .writeAhead }
      return indexLock.reading { sealed.first }.map { .drain($0) }
    } ?? nil
  }

  /// Writes to the next segment's file ahead of time, and has it used at once if that was not done for the active one's.
  func writeAhead() {
    let isDone = maker.writeAhead()
    changed.locked {
      guard ahead == .wanted else { return }
      ahead = .done
      isNextBetter.store(isDone && !indexLock.reading { active.isWrittenAhead }, ordering: .relaxed)
    }
  }

  /// Forgets a segment whose writes stand durably in the database; its file is kept to be written over, if it is one of the usual size.
  func drained(_ segment: Segment) throws(StoreError) {
    try manifest.change { $0.drained = segment.number }
    maker.recycle(segment)
    changed.signal {
      drainError = nil
      indexLock.writing { sealed.removeAll { $0 === segment } }
    }
  }

  /// Notes why a segment could not be brought into the database.
  func drainFailed(_ error: StoreError) { changed.signal { drainError = error } }

  /// Why segments are not brought into the database, if that fails, and how many wait for it.
  var drainProblem: (error: StoreError, waiting: Int)? {
    changed.locked { drainError.map { ($0, indexLock.reading { sealed.count }) } }
  }

  /// Why nothing more can be appended, when as many segments wait as may and the drain fails.
  private var fullBacklog: StoreError? {
    guard let problem = drainProblem, problem.waiting >= settings.longestBacklog else { return nil }
    return Self.full(problem.error)
  }

  private static func full(_ error: StoreError) -> StoreError {
    StoreError(
      error.code, "the log is full, as it can't be brought into the database: \(error.message)",
      underlying: error.underlying)
  }

  /// Waits until no sealed segment is left; throws why that can't be.
  func awaitDrained() throws(StoreError) { try awaitBacklog(below: 1) }

  /// Waits until fewer sealed segments than that are left; throws why that can't be.
  private func awaitBacklog(below count: Int) throws(StoreError) {
    let problem = changed.wait { () -> StoreError?? in
      if indexLock.reading({ sealed.count }) < count { return .some(nil) }
      return drainError.map { .some($0) }
    }
    if let problem { throw Self.full(problem) }
  }

  /// Waits so many milliseconds, less when the log is closed.
  func pause(milliseconds: Int) {
    let _: Void? = changed.wait(milliseconds: milliseconds) { isClosed ? () : nil }
  }

  /// Whether the drain is to end.
  var isEnding: Bool { changed.locked { isClosed } }

  /// Lets the drain end.
  func close() { changed.signal { isClosed = true } }

  /// Removes the files of a log that holds no commits; otherwise the next opening takes them up.
  func removeFiles() {
    guard active.isEmpty, sealed.isEmpty, !hasFailed else { return }
    guard (try? manifest.change { $0.last = $0.drained }) != nil else { return }
    maker.removeFiles(and: file.path)
  }
}
