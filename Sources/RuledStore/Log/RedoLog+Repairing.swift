import RuledCore

/// Repair after a failed write or sync: the log discards uncommitted frames, and continues in another file.
extension RedoLog {
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
      made.segment.append(frame)
      return true
    }
    if let problem { throw problem }
    if !made.segment.isEmpty { try made.file.sync() }
  }
}
