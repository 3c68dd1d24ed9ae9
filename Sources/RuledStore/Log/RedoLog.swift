import RuledCore
import RuledThreads

/// The log that makes commits durable and holds them until they are in the database's files.
///
/// A commit is one frame, written to the active segment's file with one write. Readers see it once it is committed: after the sync that
/// makes it durable, or at once if commits do not wait for syncs. A full segment is sealed; the flush thread writes its contents to the
/// database and then removes it.
///
/// A segment ends with its seal, or where the header of the next segment says. So if a segment's file fails, a write to another file ends
/// the segment.
///
/// `StoreState` has the table of states, and `docs/architecture.md` that of locks.
final class RedoLog: @unchecked Sendable {  // `tail` and `syncing` guard what changes
  /// A note for the operator about bytes dropped at the end of the log when it was opened.
  let openingNote: String?
  /// The segments, for readers and the flush thread.
  let segments: SegmentList
  private let settings: LogSettings
  private let manifest: LogManifest
  let maker: SegmentMaker
  let tail: LogTail
  /// Held by the one thread that syncs, seals or replaces the active segment's file; taken before `tail`.
  let syncing = Condition()
  /// The active segment's file; changed under both locks.
  private var file: SegmentFile
  /// The number of the last appended commit; under `tail`.
  var lastAppended: UInt64 = 0
  /// The number of the last committed append; under `tail`.
  var lastCommitted: UInt64 = 0
  /// The bytes of the commit for which there could be no next segment; under `syncing`.
  var refusedBytes = 0
  /// Whether something was written after the last sync began; under `tail`.
  private var isUnsynced = false

  /// Opens the log in `folder` of the store at `path`, and recovers the commits of an earlier process.
  ///
  /// If these are more segments than may be in memory, `flush` writes the earliest to the database.
  init(
    _ files: any FileSystem, path: String, folder: String, manifest: LogManifest, settings: LogSettings = LogSettings(),
    flush: (Segment) throws(StoreError) -> Void
  ) throws(StoreError) {
    self.settings = settings
    self.manifest = manifest
    let memory = SegmentMemoryPool(settings)
    let recovery = LogRecovery(files: files, folder: folder, manifest: manifest, settings: settings, memory: memory)
    let recovered = try recovery.run { (segment) throws(StoreError) in
      try flush(segment)
      try manifest.change { $0.flushed = segment.number }
    }
    openingNote = recovered.note
    maker = SegmentMaker(
      files, folder: folder, settings: settings, manifest: manifest, memory: memory,
      after: (recovered.last, recovered.end))
    let first = try maker.successor(for: 0)
    file = first.file
    tail = LogTail(of: path)
    segments = SegmentList(
      sealed: recovered.segments, active: first.segment, tail: tail, longestBacklog: settings.longestBacklog)
    recovery.removeLeftovers(keeping: recovered.segments.map(\.number) + [first.segment.number])
  }

  var state: StoreState { tail.locked { tail.state } }

  var committedSequence: UInt64 { tail.locked { lastCommitted } }

  // MARK: Appending

  /// Appends a commit and returns its number.
  ///
  /// The next sync commits it; with `isCommitted` it is committed at once.
  ///
  /// Returns nil, without appending, if it would have to wait for the disk: `makeRoom` does that. After an error, no start will recover the
  /// commit, unless the error has an unknown outcome.
  func appendFrame(_ records: ByteView, isCommitted: Bool) throws(StoreError) -> UInt64? {
    try tail.locked { () throws(StoreError) in
      try tail.check()
      guard case .open = tail.state, hasRoom(for: records.count) else { return nil }
      if isCommitted, segments.hasUncommitted { return nil }
      try writeFrame(records)
      lastAppended += 1
      if isCommitted {
        file.beginWriteback()
        segments.commit(segments.active, to: segments.active.end)
        lastCommitted = lastAppended
      }
      assert(lastCommitted <= lastAppended)
      return lastAppended
    }
  }

  private func hasRoom(for payload: Int) -> Bool {
    let active = segments.active
    return active.hasRoom(for: payload) && (!segments.isNextFaster || active.isEmpty)
  }

  private func writeFrame(_ records: ByteView) throws(StoreError) {
    let active = segments.active
    let frame = active.stage(records)
    assert(active.hasRoom(for: records.count), "a frame ends behind its segment's memory")
    do throws(StoreError) { try file.write(frame, at: active.end) } catch {
      var error = error
      error.isOutcomeUnknown = file.mayContain(frame, at: active.end)
      tail.state = .failed(error)
      throw error
    }
    active.extend(over: frame)
    isUnsynced = true
    if active.end >= settings.busyBytes, segments.wantZeros() { tail.wakeAll() }
  }

  /// Waits for the disk until a commit of `payload` bytes can be appended and committed at once.
  func makeRoom(for payload: Int) throws(StoreError) {
    if tail.locked({ segments.hasUncommitted }) { try syncFrames() }
    try advance(for: payload) { !hasRoom(for: payload) }
  }

  // MARK: Syncing

  /// Makes all appends durable, and commits them; returns the number of the last committed append.
  ///
  /// An error applies to all uncommitted appends: no start will find them, unless the error says that the outcome is unknown.
  @discardableResult
  func syncFrames() throws(StoreError) -> UInt64 { try syncing.locked { () throws(StoreError) in try syncAppended() } }

  /// Under `syncing`.
  @discardableResult
  private func syncAppended() throws(StoreError) -> UInt64 {
    let (last, begun) = try tail.locked { () throws(StoreError) in
      if !segments.hasUncommitted { try tail.check() }
      defer { isUnsynced = false }
      return (lastAppended, isUnsynced ? (segment: segments.active, end: segments.active.end) : nil)
    }
    guard let (segment, end) = begun else { return last }
    assert(segment === segments.active && segment.synced <= end, "another segment became active during a sync")
    do throws(StoreError) { try file.sync() } catch { throw failSync(error) }
    segments.commit(segment, to: end)
    tail.locked {
      lastCommitted = max(lastCommitted, last)
      noteSynced(segment, to: end)
    }
    return last
  }

  /// Notes how far the file is durable now; under `tail`.
  ///
  /// Later frames record this. If none follows yet, a mark records it, so that damage before it is not mistaken for the end of the log.
  private func noteSynced(_ segment: Segment, to end: Int) {
    assert(segment.synced <= end && end <= segment.committed && segment.committed <= segment.end)
    segment.synced = end
    guard segment.end == end, tail.state.failure == nil else { return }
    try? file.write(segment.stage(.mark), at: end)
  }

  // MARK: Repairing

  /// Discards uncommitted frames, because the kernel may have dropped any of them, and replaces the file.
  ///
  /// Returns the error to report.
  func failSync(_ error: StoreError) -> StoreError {
    var error = error
    tail.locked {
      tail.state = .failed(error)
      segments.discardUncommitted()
    }
    do throws(StoreError) { try replaceFile(after: error) } catch {}
    tail.locked {
      if case .failed = tail.state {
        error.isOutcomeUnknown = true
        tail.state = .failed(error)
      }
    }
    return error
  }

  /// Accepts commits again after a failure; uncommitted ones are lost.
  ///
  /// After an error it may be called again.
  func reopen() throws(StoreError) {
    try syncing.locked { () throws(StoreError) in
      switch state {
      case .open, .sealing: return
      case .closed: try tail.locked { () throws(StoreError) in try tail.check() }
      case .failed(let reason): try replaceFile(after: reason)
      case .suspended:
        if let full = tail.locked({ segments.fullBacklog }) { throw full }
        // Otherwise the next commit of this size would be refused again.
        if !segments.active.hasRoom(for: refusedBytes) { try maker.prepare() }
        refusedBytes = 0
      }
      tail.locked {
        lastCommitted = lastAppended
        tail.state = .open
      }
    }
  }

  /// Continues with another segment after a failure, so that no start finds the failed frames.
  ///
  /// Called under `syncing`; the state goes from `failed` to `suspended`.
  ///
  /// The other segment's header says that the failed one ends where it was durable; commits beyond that begin the other one.
  /// After a failure it is not known whether the next start will find the uncommitted frames.
  private func replaceFile(after reason: StoreError) throws(StoreError) {
    // A new file would not bring back the other removed files of the store.
    if reason.code == .removed { throw reason }
    if let full = tail.locked({ segments.fullBacklog }) { throw full }
    tail.locked { segments.discardUncommitted() }
    let failed = segments.active
    let synced = failed.synced
    assert(synced <= failed.committed && failed.committed == failed.end, "what was not committed is still there")
    let made = try maker.replacement(after: failed.number, endingAt: synced, for: failed.committed - synced)
    do throws(StoreError) {
      try copyCommits(of: failed, from: synced, to: made)
      try maker.join(made)
    } catch {
      maker.giveUp(made, after: failed.number, endingAt: synced)
      throw error
    }
    segments.commit(made.segment, to: made.segment.end)
    tail.signal {
      made.segment.synced = made.segment.end
      begin(made)
      tail.state = .suspended(reason)
    }
  }

  /// Makes a segment's frames from `offset` on the first ones of another segment, durably.
  private func copyCommits(of failed: Segment, from offset: Int, to made: SegmentMaker.Made) throws(StoreError) {
    var problem: StoreError?
    failed.forEachCommit(from: offset, before: failed.end) { payload, _ in
      let frame = made.segment.stage(payload)
      do throws(StoreError) { if problem == nil { try made.file.write(frame, at: made.segment.end) } } catch {
        problem = error
      }
      made.segment.extend(over: frame)
      return true
    }
    if let problem { throw problem }
    if !made.segment.isEmpty { try made.file.sync() }
  }

  // MARK: Sealing

  /// Seals the active segment, unless it is empty, so that it is flushed.
  func seal() throws(StoreError) { try advance(for: 0) { !segments.active.isEmpty } }

  /// Brings the whole log into the database, and continues in new files, not recycled ones: these have no bytes of earlier commits.
  func renewFiles() throws(StoreError) {
    defer { maker.resumeRecycling() }
    let last = try maker.stopRecycling()
    try advance(for: 0) { segments.active.number <= last }
    try waitForFlush()
  }

  /// Returns once no sealed segment is left; throws why they can't be flushed.
  func waitForFlush() throws(StoreError) {
    if let problem = segments.waitForFlush(below: 1) { throw problem }
  }

  /// Seals the active segment and begins another one with room for a commit of `payload` bytes, if `isNeeded` says so under `tail`.
  ///
  /// Appends wait meanwhile. All earlier appends are committed.
  private func advance(for payload: Int, _ isNeeded: () -> Bool) throws(StoreError) {
    while try tail.locked({ () throws(StoreError) in
      try tail.check()
      return tail.isSealing || isNeeded()
    }) {
      segments.waitForRoom()
      try syncing.locked { () throws(StoreError) in
        let isFirst = try tail.locked { () throws(StoreError) in
          try tail.check()
          guard isNeeded() else { return false }
          tail.state = .sealing
          return true
        }
        if isFirst { try sealActive(for: payload) }
      }
    }
  }

  /// Under `syncing`, in the state `sealing`, which it leaves.
  private func sealActive(for payload: Int) throws(StoreError) {
    if tail.locked({ segments.hasUncommitted }) { try syncAppended() }
    let made: SegmentMaker.Made
    do throws(StoreError) {
      if let full = tail.locked({ segments.fullBacklog }) { throw full }
      guard tail.locked({ !segments.isFull }) else { return tail.locked { tail.state = .open } }
      made = try maker.successor(for: payload)
    } catch {
      refusedBytes = payload
      tail.locked { tail.state = .suspended(error) }
      throw error
    }
    let active = segments.active
    assert(active.committed == active.end, "a segment is sealed with commits that nobody synced")
    do throws(StoreError) {
      try file.write(active.stage(.seal), at: active.end)
      try file.sync()
    } catch {
      maker.takeBack(made, after: active.number)
      tail.locked { tail.state = .failed(error) }
      throw error
    }
    tail.signal {
      active.synced = active.end
      begin(made)
      tail.state = .open
    }
  }

  /// Makes a segment the active one; under both locks.
  func begin(_ made: SegmentMaker.Made) {
    assert(made.segment.number > segments.active.number && made.segment.committed == made.segment.end)
    file = made.file
    isUnsynced = false
    segments.advance(to: made.segment)
  }

  // MARK: Background

  /// Makes the next segment ahead of time, if there is none, so that no commit has to wait for it.
  func prepareNext() throws(StoreError) { try maker.prepare() }

  /// Writes zeros to the next segment's file, so that its syncs have no metadata to write.
  func writeZeros() { segments.noteZeros(isDone: maker.writeZeros()) }

  /// Removes a segment whose writes are durable in the database; its file is recycled if it is one of the usual size.
  func remove(_ flushed: Segment) throws(StoreError) {
    assert(tail.locked { flushed !== segments.active }, "the active segment can't be in the database")
    try manifest.change { $0.flushed = flushed.number }
    maker.recycle(flushed)
    segments.remove(flushed)
  }

  /// Releases memory that is kept for later segments.
  func trim() { maker.trim() }

  var isClosed: Bool { tail.locked { tail.isClosed } }

  /// Waits that many milliseconds, less when the log is closed.
  func pause(milliseconds: Int) {
    let _: Void? = tail.wait(milliseconds: milliseconds) { tail.isClosed ? () : nil }
  }

  // MARK: Closing

  /// Accepts no more appends; returns the state before.
  func close() -> StoreState {
    syncing.locked {
      defer { tail.wakeAll() }
      return tail.locked {
        defer { tail.state = .closed }
        return tail.state
      }
    }
  }

  /// Removes the files of a closed log that holds no commits; otherwise the next opening takes them up.
  func removeFiles() {
    guard segments.isEmpty, (try? manifest.change { $0.last = $0.flushed }) != nil else { return }
    maker.removeFiles(and: file.path)
  }

  static func path(_ number: UInt64, in folder: String) -> String { "\(folder)/\(number.digits(10)).log" }

  /// The numbers of the files in a log's folder, which need not exist, in order.
  static func numbers(in folder: String, _ files: any FileSystem) throws(StoreError) -> [UInt64] {
    guard files.exists(folder) else { return [] }
    return try files.names(in: folder).filter { $0.hasSuffix(".log") }.compactMap { UInt64($0.dropLast(4)) }.sorted()
  }
}
