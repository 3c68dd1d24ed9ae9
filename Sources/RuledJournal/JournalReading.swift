import RuledCore
package import RuledStore
import Synchronization

/// The journal of a running daemon: its files, and the entries in the log that are not in the files yet.
package struct LiveJournal: JournalSource {
  private let journal: Journal
  private let store: RocksStore

  /// The journal of an open store.
  package init(_ journal: Journal, of store: RocksStore) {
    self.journal = journal
    self.store = store
  }

  package func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    // The log first: segments that are removed from it meanwhile are in the files.
    let logged = store.loggedCommits
    let state = journal.state
    var forgotten = state.forgotten
    forEach(in: logged, from: range.first) { view in
      if view.origin == .forget { _ = forgotten.add(view.subject, through: view.sequence) }
      return true
    }
    let hides = { forgotten.hides($0) }
    guard try state.contents.forEach(in: range, journal.files, hides: hides, { body($0.entry) }) else { return }
    let redaction = journal.redaction
    let known = state.contents.last
    forEach(in: logged, from: max(range.first, known + 1)) { view in
      guard view.sequence > known, !view.flags.contains(.isSilent), range.matches(view), !hides(view) else {
        return true
      }
      guard let redaction else { return body(view.entry) }
      var shouldContinue = true
      redaction.apply(to: view) { shouldContinue = body($0.entry) }
      return shouldContinue
    }
  }

  /// Calls `body` with each entry in the log until it returns false; it may leave out those before the sequence `first`.
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

  package var first: UInt64 { contents.first }

  package var gaps: [JournalGap] { contents.gaps }

  package var snapshots: [JournalSnapshot] { JournalSnapshots(in: folder, files).all }
}

/// Positions of commits in the log, a MiB apart, so that reading the latest entries does not take reading the whole log.
final class LogMarks: Sendable {
  /// The position of a commit.
  struct Mark: Sendable, Equatable {
    /// The number of its segment.
    let segment: UInt64
    /// Its offset in the segment, in bytes.
    let offset: Int
    /// The last sequence before it.
    let sequence: UInt64
  }

  /// The least distance between marks of one segment, in bytes.
  static let spacing = 1 << 20

  /// In the order of the log.
  private let marks = Mutex<[Mark]>([])

  /// The marks, in the order of the log.
  var all: [Mark] { marks.withLock { $0 } }

  /// Adds a mark if it is behind all others and not too close to the last one.
  func note(_ mark: Mark) {
    marks.withLock { marks in
      if let last = marks.last {
        guard mark.segment > last.segment || mark.offset >= last.offset + Self.spacing && mark.segment == last.segment
        else { return }
      }
      marks.append(mark)
    }
  }

  /// The last mark before the sequence `first` in the segments `logged`; removes the marks of segments that are gone.
  func last(before first: UInt64, in logged: [LoggedCommits]) -> Mark? {
    guard let earliest = logged.first?.number else { return nil }
    return marks.withLock { marks in
      marks.removeAll { $0.segment < earliest }
      return marks.last { $0.sequence < first && $0.sequence > 0 }
    }
  }
}
