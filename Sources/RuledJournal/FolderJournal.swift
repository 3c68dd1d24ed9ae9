package import RuledStore

/// A journal's folder alone, as tools read it: a daemon may go on writing there.
package struct FolderJournal: JournalSource {
  private let contents: JournalFiles
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
