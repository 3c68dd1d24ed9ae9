import Glibc
import RuledCore
import Synchronization

/// The log that makes commits durable and answers for them until they stand in the database's files.
///
/// A commit is one write to the active segment; it counts, and is found, once it has been accepted. A full segment is sealed and left to the drain, which
/// brings what it left behind into the database and then removes it. Reads ask the segments first, the latest before the others.
final class RedoLog: @unchecked Sendable {  // segments and what counts of them are guarded by `indexLock`
  /// How many sealed segments may wait before commits wait for the drain.
  static let longestBacklog = 3

  /// From how many bytes on a segment is a busy one, so that the next one's file is worth writing to ahead of time.
  private static let busy = Segment.usualCapacity / 16

  private let folder: String
  private let indexLock = ReadWriteLock()
  private let changed = Condition()
  private let maker: SegmentMaker
  private var active: Segment
  private var file: SegmentFile
  private var sealed: [Segment]
  private var drainError: StoreError?
  private var isClosed = false
  private var damage = Damage.none
  /// Whether something was written that no sync has begun to bring to the disk.
  private var isUnsynced = false

  /// What is known of writing ahead to the next segment's file; guarded by `changed`.
  private var ahead = Ahead.idle
  /// Whether the next segment is better than the active one, since its file was written to ahead of time.
  private let isNextBetter = Atomic(false)

  /// How far the writing ahead is.
  private enum Ahead { case idle, wanted, done }

  /// What a failed commit may have left in the active segment's file.
  private enum Damage {
    case none
    /// A frame that is not whole behind those that count.
    case torn
    /// Less than what was written: after a failed sync the system may have dropped any of it.
    case lost
  }

  /// The log in `folder`, with what an earlier process left there.
  init(folder: String) throws(StoreError) {
    self.folder = folder
    try Folder.create(folder)
    sealed = try LogRecovery.segments(in: folder)
    maker = SegmentMaker(folder: folder, after: sealed.last?.number ?? 0)
    (active, file) = try maker.successor(for: 0)
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

  /// Appends a commit, for which there must be room and which does not count yet; after an error nothing of it is left, and `repair` must succeed
  /// before the next.
  func append(_ records: UnsafeRawBufferPointer) throws(StoreError) {
    let frame = active.stage(records)
    do throws(StoreError) {
      try file.write(frame, at: active.end)
    } catch {
      damage = .torn
      file.erase(LogFrame.header, at: active.end)
      throw error
    }
    let wasBusy = active.end >= Self.busy
    active.keep(frame)
    isUnsynced = true
    if !wasBusy, active.end >= Self.busy { changed.signal { if ahead == .idle { ahead = .wanted } } }
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

  /// Forgets what does not count, after a failed sync and under the lock on the log's end: the system may have dropped any of it.
  func lose() {
    damage = .lost
    indexLock.writing { active.dropUncounted() }
    file.erase(LogFrame.header, at: active.end)
  }

  // MARK: Segments, under both locks

  /// Seals the active segment, unless it is empty, and begins the next; everything in it must count.
  func rotate(for payload: Int = 0) throws(StoreError) {
    guard !active.isEmpty || !active.hasRoom(for: payload) else { return }
    try awaitBacklog(below: Self.longestBacklog)
    let next = try maker.successor(for: payload)
    do throws(StoreError) { try seal() } catch {
      maker.takeBack(next)
      throw error
    }
    file = next.file
    advance(to: next.segment)
  }

  /// Ends the active segment so that nothing of a failed commit is in it, and begins the next.
  ///
  /// What was appended whole and not lost counts and is durable afterwards: after a failed sync, the file is written anew from memory.
  func repair() throws(StoreError) {
    if damage == .lost {
      let path = Self.path(active.number, in: folder)
      let length = active.end + active.stageSeal().count
      let rewritten = try SegmentFile(creating: path + ".new", capacity: length)
      try rewritten.write(UnsafeRawBufferPointer(start: active.base, count: length), at: 0)
      try rewritten.finish(at: length)
      guard rename(path + ".new", path) == 0 else {
        throw StoreError.system("the log \(path) can't be replaced", errno)
      }
      try Folder.sync(folder)
      file = rewritten
      active.isWrittenAhead = false
    } else if damage == .none, active.isEmpty {
      return changed.signal { drainError = nil }
    } else {
      try seal()
    }
    let next = try maker.successor(for: 0)
    file = next.file
    damage = .none
    isUnsynced = false
    advance(to: next.segment)
    changed.signal { drainError = nil }
  }

  private func seal() throws(StoreError) {
    do throws(StoreError) { try file.write(active.stageSeal(), at: active.end) } catch {
      damage = .torn
      throw error
    }
    do throws(StoreError) { try file.sync() } catch {
      lose()
      throw error
    }
    indexLock.writing { active.accept(to: active.end) }
    isUnsynced = false
  }

  /// Makes the next segment ahead of time, if there is none, so that no commit has to wait for it.
  func prepare() throws(StoreError) { try maker.prepare() }

  /// Gives back memory that is kept for segments to come.
  func rest() { maker.rest() }

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

  /// Forgets a segment whose writes stand in the database; its file is kept to be written over, if it is one of the usual size.
  func drained(_ segment: Segment) {
    maker.recycle(segment)
    changed.signal {
      drainError = nil
      indexLock.writing { sealed.removeAll { $0 === segment } }
    }
  }

  /// Notes why a segment could not be brought into the database.
  func drainFailed(_ error: StoreError) { changed.signal { drainError = error } }

  /// Waits until no sealed segment is left; throws why that can't be.
  func awaitDrained() throws(StoreError) { try awaitBacklog(below: 1) }

  /// Waits until fewer sealed segments than that are left; throws why that can't be.
  private func awaitBacklog(below count: Int) throws(StoreError) {
    let problem = changed.wait { () -> StoreError?? in
      if indexLock.reading({ sealed.count }) < count { return .some(nil) }
      return drainError.map { .some($0) }
    }
    if let problem { throw problem }
  }

  /// Waits so many milliseconds, less when the log is closed.
  func pause(milliseconds: Int) {
    let _: Void? = changed.wait(milliseconds: milliseconds) { isClosed ? () : nil }
  }

  /// Whether the drain is to end.
  var isEnding: Bool { changed.locked { isClosed } }

  /// Lets the drain end.
  func close() { changed.signal { isClosed = true } }

  /// Removes the active segment's file, which is empty.
  func removeActive() {
    maker.removeFiles()
    if active.isEmpty { unlink(file.path) }
  }
}
