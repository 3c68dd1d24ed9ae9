import RuledCore
package import RuledStore

/// The journal of a running daemon: its files, and what the log holds that is not in these yet.
package struct LiveJournal: JournalSource {
  private let journal: Journal
  private let store: RocksStore

  /// The journal of an open store.
  package init(_ journal: Journal, of store: RocksStore) {
    self.journal = journal
    self.store = store
  }

  package func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    // The log first: what leaves it meanwhile is in the files.
    let logged = store.loggedCommits
    let state = journal.state
    var forgotten = state.forgotten
    forEach(in: logged) { view in
      if view.origin == .forget { _ = forgotten.add(view.subject, through: view.sequence) }
      return true
    }
    let hides = { forgotten.hides($0) }
    guard try state.contents.forEach(in: range, journal.files, hides: hides, { body($0.entry) }) else { return }
    let redaction = journal.redaction
    let known = state.contents.last
    forEach(in: logged) { view in
      guard view.sequence > known, !view.flags.contains(.isSilent), range.matches(view), !hides(view) else {
        return true
      }
      guard let redaction else { return body(view.entry) }
      var goesOn = true
      redaction.apply(to: view) { goesOn = body($0.entry) }
      return goesOn
    }
  }

  /// Calls `body` with each entry in the log until it returns false.
  private func forEach(in logged: [LoggedCommits], _ body: (EntryView) -> Bool) {
    var reader = CommitReader()
    var last = journal.state.contents.last
    var goesOn = true
    for commits in logged where goesOn {
      commits.forEach { commit in
        guard goesOn else { return }
        reader.read(commit, after: last) { view in
          last = max(last, view.sequence)
          if goesOn { goesOn = body(view) }
        }
      }
    }
  }

  package var gaps: [JournalGap] {
    // What was committed by now is in the log or in the files when these are read after it.
    let committed = (try? store.lastSequence()) ?? 0
    let logged = store.loggedCommits
    let state = journal.state
    let gaps = state.contents.gaps + [state.failure?.gap].compactMap { $0 }
    let covered = max(state.contents.last, state.failure?.gap.last ?? 0)
    return gaps + [missing(after: covered, in: logged, committed)].compactMap { $0 }
  }

  /// What lies between the last sequence that the files cover and the log: it was lost by a process that could not state it before its end.
  private func missing(after covered: UInt64, in logged: [LoggedCommits], _ committed: UInt64) -> JournalGap? {
    guard covered > 0 else { return nil }
    var end = max(committed, covered)
    forEach(in: logged) { view in
      guard view.sequence > covered, !view.flags.contains(.isSilent) else { return true }
      end = view.sequence - 1
      return false
    }
    return end > covered ? JournalGap(first: covered + 1, last: end, reason: JournalFiles.unknownReason) : nil
  }

  package var snapshots: [JournalSnapshot] { journal.snapshots }
}

/// A journal's folder alone, as tools read it: a daemon may go on writing there.
package struct FolderJournal: JournalSource {
  private let contents: JournalFiles
  private let forgotten: ForgottenSubjects
  private let folder: String
  private let files: any FileSystem

  /// What is in the folder now; throws when it can't be read.
  package init(folder: String, files: any FileSystem = SystemFiles()) throws(StoreError) {
    guard files.exists(folder) else {
      throw StoreError(.refused, "there is no journal in \(folder): set 'journal' in the configuration of the daemon")
    }
    self.folder = folder
    self.files = files
    forgotten = try ForgottenSubjects(in: folder, files)
    contents = try JournalFiles(in: folder, files)
    if let problem = contents.problems.first { throw StoreError(.corrupt, problem) }
  }

  package func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    _ = try contents.forEach(in: range, files, hides: { forgotten.hides($0) }, { body($0.entry) })
  }

  package var gaps: [JournalGap] { contents.gaps }

  package var snapshots: [JournalSnapshot] { JournalSnapshots(in: folder, files).all }
}
