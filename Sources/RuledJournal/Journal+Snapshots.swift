package import RuledCore
package import RuledStore

extension Journal {
  /// The snapshots, the earliest first.
  package var snapshots: [JournalSnapshot] { JournalSnapshots(in: folder, files).all }

  /// Whether a snapshot is due: there is none, the last one is old, entries after it are missing or will soon be removed, or the clock was set to
  /// before it.
  ///
  /// So when a file is removed for want of room, later entries lack a snapshot only while they take less than a quarter of the room.
  package func needsSnapshot(now: Timestamp) -> Bool {
    guard let last = snapshots.last else { return true }
    let age = now.microseconds - last.at.microseconds
    let settings = writing.locked { self.settings }
    let contents = state.contents
    let newBytes = contents.summaries.reduce(0) { $1.first > last.sequence ? $0 + $1.bytes : $0 }
    return age >= settings.snapshot || age < 0 || newBytes >= settings.maxBytes / 4
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
}
