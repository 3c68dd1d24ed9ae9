import RuledCore

/// The segments of the log: the active one and the sealed ones, which wait for the flush thread.
///
/// Readers ask them all, the latest first. `index` guards the list and the committed end of each segment, which only changes while its changer holds
/// `LogTail` or `RedoLog.syncing` too. `LogTail` guards the work for the flush thread.
final class SegmentList: @unchecked Sendable {  // `index` and `tail` guard what changes
  private let tail: LogTail
  private let longestBacklog: Int
  private let index = ReadWriteLock()
  /// The segment that commits are appended to; changed under both locks.
  private(set) var active: Segment
  /// The earliest first; changed under both locks.
  private var sealed: [Segment]
  /// Why the earliest sealed segment could not be flushed the last time; under `tail`.
  private var flushError: StoreError?
  /// Whether zeros are, or have been, written to the next segment's file; under `tail`.
  private var zeroing = Zeroing.idle
  /// Whether the next segment's file has been written to and the active one's was not, so that the next one syncs faster; under `tail`.
  private(set) var isNextFaster = false

  private enum Zeroing { case idle, wanted, done }

  /// The segments that an earlier process left, and an active one behind them.
  init(sealed: [Segment], active: Segment, tail: LogTail, longestBacklog: Int) {
    self.sealed = sealed
    self.active = active
    self.tail = tail
    self.longestBacklog = longestBacklog
  }

  // MARK: Reading

  enum Found {
    /// Nothing: the database knows.
    case absent
    case deleted
    case value
  }

  /// Looks a key up and appends its value to `buffer`.
  func find(_ key: ByteView, into buffer: ByteBuffer) -> Found {
    index.reading {
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

  /// The committed writes on keys of a scope, those of the latest segment first.
  func writes(in scope: KeyScope?) -> [(segment: Segment, writes: OrderedWrites)] {
    index.reading { ([active] + sealed.reversed()).map { ($0, $0.writes(in: scope)) } }
  }

  /// The segments, the earliest first, and the end of the commits in each.
  var committed: [(segment: Segment, end: Int)] {
    index.reading { (sealed + [active]).map { ($0, $0.committed) } }
  }

  /// How many bytes the committed frames take.
  var byteCount: Int {
    index.reading { sealed.reduce(active.committed) { $0 + $1.committed } }
  }

  var sealedCount: Int { index.reading { sealed.count } }

  /// Whether there are uncommitted frames; under `tail`.
  var hasUncommitted: Bool { index.reading { active.committed < active.end } }

  // MARK: Changing

  /// Commits a segment's frames before `offset`: they are found from now on.
  func commit(_ segment: Segment, to offset: Int) { index.writing { segment.commit(to: offset) } }

  /// Forgets the active segment's uncommitted frames; under `tail`.
  func discardUncommitted() { index.writing { active.discardUncommitted() } }

  /// Makes `next` the active segment, and the one before it a sealed one; under `tail`.
  func advance(to next: Segment) {
    index.writing {
      sealed.append(active)
      active = next
    }
    isNextFaster = false
    zeroing = .idle
  }

  // MARK: The backlog

  /// The number of sealed segments that wait to be flushed; under `tail`.
  var backlog: Int { sealed.count }

  /// Whether as many sealed segments wait as `longestBacklog` allows; under `tail`.
  var isFull: Bool { backlog >= longestBacklog }

  /// Why no segment can be sealed: the backlog is full, and flushing fails; under `tail`.
  var fullBacklog: StoreError? { isFull ? flushError.map(Self.full) : nil }

  /// Whether no sealed segment is left, and none was appended to.
  var isEmpty: Bool { tail.locked { sealed.isEmpty && active.isEmpty } }

  private static func full(_ error: StoreError) -> StoreError {
    StoreError(
      error.code, "the log is full, as it can't be brought into the database: \(error.message)",
      underlying: error.underlying)
  }

  /// Waits until fewer than `count` sealed segments are left, flushing fails, or the store is closed.
  ///
  /// Returns the error of a failed flush.
  func waitForFlush(below count: Int) -> StoreError? {
    tail.wait { () -> StoreError?? in
      if backlog < count || tail.isClosed { return .some(nil) }
      return flushError.map { .some(Self.full($0)) }
    }
  }

  /// Waits until another segment may be sealed, flushing fails, or the store is closed.
  func waitForRoom() { _ = waitForFlush(below: longestBacklog) }

  // MARK: For the flush thread

  enum Work {
    /// A sealed segment is to be brought into the database: the earliest.
    case flush(Segment)
    /// Zeros are to be written to the next segment's file.
    case writeZeros
  }

  /// Waits for something to do, at most so many milliseconds; nil when there is nothing or the store is closed.
  func nextWork(within milliseconds: Int) -> Work? {
    tail.wait(milliseconds: milliseconds) { () -> Work?? in
      if tail.isClosed { return .some(nil) }
      if zeroing == .wanted { return .writeZeros }
      return sealed.first.map { .flush($0) }
    } ?? nil
  }

  /// Removes a segment that is durable in the database.
  func remove(_ flushed: Segment) {
    tail.signal {
      flushError = nil
      index.writing { sealed.removeAll { $0 === flushed } }
    }
  }

  func noteFailedFlush(_ error: StoreError) { tail.signal { flushError = error } }

  /// Why the flush fails, and the number of segments that wait for it; nil when it doesn't fail.
  var flushProblem: (error: StoreError, waiting: Int)? { tail.locked { flushError.map { ($0, backlog) } } }

  /// Asks the flush thread to write zeros to the next segment's file, unless that was asked before; under `tail`.
  func wantZeros() -> Bool {
    guard zeroing == .idle else { return false }
    zeroing = .wanted
    return true
  }

  /// Notes that zeros were written to the next segment's file, to all of it if `isDone`.
  func noteZeros(isDone: Bool) {
    tail.locked {
      guard zeroing == .wanted else { return }
      zeroing = .done
      isNextFaster = isDone && !active.hasZeros
    }
  }
}
