package import RuledCore
package import RuledStore

/// Maintenance of complete files, by one thread at a time: it removes the oldest, and erases forgotten subjects.
///
/// The thread that writes files removes the oldest too, if there is no room for the next block.
extension Journal {
  // MARK: Retention

  /// Removes files, the oldest first, that are older than `keep`, or until the rest and the next file are smaller than `max_gib`.
  package func retain(now: Timestamp) throws(StoreError) {
    let settings = writing.locked { self.settings }
    let room = settings.maxBytes - min(settings.maxBytes / 8, fileBytes(settings))
    let cutoff = now.microseconds - settings.keep
    if let last = state.contents.summaries.last, !last.isComplete, last.entries > 0, last.latest < cutoff {
      completeCurrent()
    }
    try writing.locked { () throws(StoreError) in
      while let oldest = state.contents.summaries.first, oldest.path != writer?.summary.path,
        state.contents.bytes > room || state.contents.oldestTime ?? .max < cutoff
      {
        try remove(oldest)
      }
    }
    try removeOldSnapshots()
  }

  /// Under `writing`.
  func remove(_ oldest: FileSummary) throws(StoreError) {
    try files.remove(oldest.path)
    published.withLock { $0.contents.removeOldest() }
  }

  /// Removes the journal of a store, as when it was turned off.
  package static func remove(of store: String) throws(StoreError) {
    try StoreCheckpoints.remove("\(store)/\(folderName)")
  }

  // MARK: Snapshots

  /// The snapshots, the earliest first.
  package var snapshots: [JournalSnapshot] { JournalSnapshots(in: folder, files).all }

  /// Whether a snapshot is due: there is none, the last one is old, entries after it are missing or will soon be removed, or the clock was set to
  /// before it.
  ///
  /// So when a file is removed for want of room, later entries lack a snapshot only while they take less than an eighth of the room, and at most
  /// a file more.
  package func needsSnapshot(now: Timestamp) -> Bool {
    guard let last = snapshots.last else { return true }
    let age = now.microseconds - last.at.microseconds
    let settings = writing.locked { self.settings }
    let contents = state.contents
    let newBytes = contents.summaries.reduce(0) { $1.last > last.sequence ? $0 + $1.bytes : $0 }
    return age >= settings.snapshot || age < 0 || newBytes >= settings.maxBytes / 8
      || last.sequence + 1 < contents.first || contents.gaps.contains { $0.last > last.sequence }
  }

  /// Takes a snapshot of a store on the same file system; commits go on meanwhile.
  package func takeSnapshot(of store: RocksStore, now: Timestamp) throws(StoreError) {
    let parent = "\(folder)/\(JournalSnapshots.folderName)"
    try files.createFolder(parent)
    let new = "\(parent)/unfinished"
    try StoreCheckpoints.remove(new)
    do throws(StoreError) {
      let sequence = try store.snapshot(to: new)
      let path = "\(parent)/\(JournalSnapshots.name(sequence, at: now))"
      try StoreCheckpoints.remove(path)
      try files.rename(new, to: path)
      try files.syncFolder(parent)
    } catch {
      try? StoreCheckpoints.remove(new)
      throw error
    }
  }

  /// Removes the snapshots from which nothing can be replayed, because the entries right after them were removed.
  func removeOldSnapshots() throws(StoreError) {
    let contents = state.contents
    let first = contents.summaries.isEmpty ? .max : contents.first
    for snapshot in snapshots.dropLast() where snapshot.sequence + 1 < first {
      try StoreCheckpoints.remove(snapshot.path)
    }
  }

  /// Erases subjects from a snapshot, so that its files have nothing of their past.
  func erase(_ forgotten: ForgottenSubjects, from snapshot: JournalSnapshot) throws(StoreError) {
    let store = try RocksStore(path: snapshot.path, blockCacheBytes: 1 << 20)
    let deletes = WriteSet()
    try store.scan(from: [], to: nil) { key, _ in
      if let subject = (try? ParsedKey(key))?.subject, forgotten.isErased(subject, after: snapshot.sequence) {
        deletes.delete(key)
      }
      return true
    }
    try store.commit(deletes, durable: true)
    if !deletes.isEmpty || forgotten.first <= snapshot.sequence { try store.compact() }
    try store.close()
  }

  // MARK: Forgetting

  /// Erases forgotten subjects from all files of the journal, its store and its snapshots; removes copies of salvaged logs.
  ///
  /// It stops once `shouldContinue` returns false, and starts over at the next call. A snapshot shares files with the store, so one taken after a
  /// `forget` has the subject's bytes as long as the store's files do.
  package func erase(from store: RocksStore, while shouldContinue: () -> Bool) throws(StoreError) {
    start()
    try store.flushAll()
    let forgotten = state.forgotten
    guard !forgotten.isEmpty else { return }
    completeCurrent()
    let old = writing.locked { state.contents.summaries.filter { $0.path != writer?.summary.path } }
    for summary in old where summary.first <= forgotten.last {
      guard shouldContinue() else { return }
      try rewrite(summary, without: forgotten)
    }
    guard shouldContinue() else { return }
    try store.compact()
    try LogSalvage.removeCopies(of: store.path)
    for snapshot in snapshots {
      guard shouldContinue() else { return }
      try erase(forgotten, from: snapshot)
    }
    try writing.locked { () throws(StoreError) in
      var left = state.forgotten
      left.subtract(forgotten)
      try left.write(to: folder, files)
      published.withLock { [left] in $0.forgotten = left }
    }
  }

  /// Rewrites a file without the entries of forgotten subjects, and without blocks that may have some and can't be read; it covers the same
  /// sequences.
  private func rewrite(_ summary: FileSummary, without forgotten: ForgottenSubjects) throws(StoreError) {
    guard files.exists(summary.path) else { return }
    let old = try summary.open(files)
    guard old.blocks.contains(where: { forgotten.concerns($0.header.first, $0.filter) }) else { return }
    let new = summary.path + ".new"
    var after: FileSummary
    var lost: [JournalGap] = []
    do throws(StoreError) {
      let writer = try JournalFileWriter(creating: new, files)
      let room = ByteBuffer(capacity: 256 << 10)
      for block in old.blocks {
        room.removeAll()
        let header: BlockHeader
        do throws(StoreError) { header = try copy(block, of: old, without: forgotten, into: room) } catch {
          var gap = JournalGap(block.header, unreadable: error)
          gap.isDamage = false
          lost.append(gap)
          room.removeAll()
          header = gap.write(into: room)
        }
        try writer.append(room.bytes, header)
      }
      try writer.finish()
      after = writer.summary
      after.path = summary.path
    } catch {
      try? files.remove(new)
      throw error
    }
    try writing.locked { () throws(StoreError) -> Void in
      guard let index = state.contents.summaries.firstIndex(where: { $0.path == after.path }) else {
        return try files.remove(new)
      }
      try files.rename(new, to: summary.path)
      try files.syncFolder(folder)
      published.withLock { [after, lost] state in
        state.contents.summaries[index] = after
        for gap in lost { state.contents.note(gap) }
      }
    }
  }

  /// Appends a block without the entries of forgotten subjects, or as it is if it has none of them, and returns its header.
  private func copy(
    _ block: JournalFile.Block, of file: JournalFile, without forgotten: ForgottenSubjects, into room: ByteBuffer
  ) throws(StoreError) -> BlockHeader {
    guard block.isDamage || block.header.kind.hasEntries, forgotten.concerns(block.header.first, block.filter) else {
      room.append(try file.bytes(of: block))
      return block.header
    }
    let builder = BlockBuilder(level: level)
    builder.cover(block.header.first)
    _ = try file.forEach(in: block) { (view) throws(StoreError) in
      var view = view
      let isErased = forgotten.erases(view)
      if isErased { view.subject = .empty }
      if isErased, view.origin != .forget { builder.cover(view.sequence) } else { builder.add(view) }
      return true
    }
    builder.cover(block.header.last)
    return builder.finish(into: room)
  }
}
