package import RuledStore
import RuledThreads

/// A journal's folder alone, as tools read it: a daemon may go on writing there.
package struct FolderJournal: JournalSource {
  private let contents: Shared<JournalFiles>
  private let forgotten: ForgottenSubjects
  private let folder: String
  private let files: any FileSystem

  /// The journal as the folder has it now; throws when it can't be read.
  package init(folder: String, files: any FileSystem = SystemFiles()) throws(StoreError) {
    guard files.exists(folder) else {
      throw StoreError(.refused, "there is no journal in \(folder): set 'journal' in the configuration of the daemon")
    }
    self.folder = folder
    self.files = files
    let contents = try JournalFiles(in: folder, files)
    forgotten = try ForgottenSubjects.read(in: folder, or: contents, files).subjects
    self.contents = Shared(contents)
    if let problem = contents.problems.first { throw StoreError(.corrupt, problem) }
  }

  package func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    let noteDamage = { contents.value.note($0) }
    _ = try contents.value.forEach(
      in: range, files, hides: { forgotten.hides($0) }, noteDamage: noteDamage, { body($0.entry) })
  }

  package var first: UInt64 { contents.value.first }

  package var gaps: [JournalGap] { contents.value.gaps }

  package var snapshots: [JournalSnapshot] { JournalSnapshots(in: folder, files).all }
}
