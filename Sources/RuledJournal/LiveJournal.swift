package import RuledStore

/// The journal of a running daemon: its files, and the entries in the log that are not in the files yet.
package struct LiveJournal: JournalSource {
  let journal: Journal
  private let store: RocksStore

  package init(_ journal: Journal, of store: RocksStore) {
    self.journal = journal
    self.store = store
  }

  package func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    try forEachView(in: range) { body($0.entry) }
  }

  /// As `forEach`, with views that are valid during the call of `body`.
  func forEachView(in range: JournalRange, _ body: (EntryView) -> Bool) throws(StoreError) {
    // The log first: segments that leave it meanwhile are in the files.
    let logged = store.loggedCommits
    let state = journal.state
    var forgotten = state.forgotten
    forEach(in: logged, from: range.first) { view in
      if view.origin == .forget { _ = forgotten.add(view.subject, through: view.sequence) }
      return true
    }
    let hides = { forgotten.hides($0) }
    guard try state.contents.forEach(in: range, journal.files, hides: hides, noteDamage: journal.note, body) else {
      return
    }
    let redaction = journal.redaction
    let known = state.contents.last
    forEach(in: logged, from: max(range.first, known + 1)) { view in
      guard view.sequence > known, !view.flags.contains(.isSilent), range.matches(view), !hides(view) else {
        return true
      }
      guard let redaction else { return body(view) }
      var shouldContinue = true
      redaction.apply(to: view) { shouldContinue = body($0) }
      return shouldContinue
    }
  }

  /// Calls `body` with each entry in the log until it returns false; may leave out entries before the sequence `first`.
  private func forEach(in logged: [LoggedCommits], from first: UInt64, _ body: (EntryView) -> Bool) {
    var reader = CommitReader()
    let mark = journal.marks.last(before: first, in: logged)
    var last = mark?.sequence ?? journal.state.contents.last
    var shouldContinue = true
    for commits in logged where shouldContinue && commits.number >= mark?.segment ?? 0 {
      commits.forEach(from: commits.number == mark?.segment ? mark?.offset : nil) { commit, offset in
        journal.marks.note(LogMarks.Mark(segment: commits.number, offset: offset, sequence: last))
        reader.read(commit, after: last) { view in
          last = max(last, view.sequence)
          if shouldContinue { shouldContinue = body(view) }
        }
        return shouldContinue
      }
    }
  }

  package var first: UInt64 {
    let logged = store.loggedCommits
    var first = journal.state.contents.first
    guard first == 0 else { return first }
    forEach(in: logged, from: 0) { view in
      first = view.sequence
      return view.flags.contains(.isSilent)
    }
    return first
  }

  package var gaps: [JournalGap] {
    // Read before the log and the files, so that each commit until now is in one of these.
    let committed = (try? store.lastSequence()) ?? 0
    let logged = store.loggedCommits
    let state = journal.state
    let gaps = state.contents.gaps + [state.failure?.gap].compactMap { $0 }
    let covered = max(state.contents.last, state.failure?.gap.last ?? 0)
    return gaps + [missing(after: covered, in: logged, committed)].compactMap { $0 }
  }

  /// The gap between the files and the log: entries that a process lost without being able to write the gap before it ended.
  private func missing(after covered: UInt64, in logged: [LoggedCommits], _ committed: UInt64) -> JournalGap? {
    guard covered > 0 else { return nil }
    var end = max(committed, covered)
    forEach(in: logged, from: covered + 1) { view in
      guard view.sequence > covered, !view.flags.contains(.isSilent) else { return true }
      end = view.sequence - 1
      return false
    }
    return end > covered ? JournalGap(first: covered + 1, last: end, reason: JournalFiles.unknownReason) : nil
  }

  package var snapshots: [JournalSnapshot] { journal.snapshots }
}
