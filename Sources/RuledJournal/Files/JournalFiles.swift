import RuledCore
import RuledStore

/// The files in a journal's folder, the earliest first, and the gaps between them.
struct JournalFiles: Sendable {
  var summaries: [FileSummary] = []
  /// The missing sequences between the first and the last entry.
  var gaps: [JournalGap] = []
  /// The unreadable files, and why.
  var problems: [String] = []
  /// The last sequence that they cover; 0 for none.
  var last: UInt64 { summaries.last?.last ?? 0 }
  /// The first sequence that they cover; 0 for none.
  var first: UInt64 { summaries.first?.first ?? 0 }

  /// The size of all files in bytes.
  var bytes: Int { summaries.reduce(0) { $0 + $1.bytes } }

  static let suffix = ".rj"
  static let unknownReason =
    "no reason is known: the journal was off, or the daemon ended while the journal could not be written"

  static let salvageReason = "the log was damaged, and --salvage left out what could not be read"

  init() {}

  /// The files in a folder.
  init(in folder: String, _ files: any FileSystem) throws(StoreError) {
    guard files.exists(folder) else { return }
    let names = try files.names(in: folder).filter { $0.hasSuffix(Self.suffix) }.sorted()
    for name in names {
      do throws(StoreError) {
        let file = try JournalFile("\(folder)/\(name)", files)
        let summary = FileSummary(file)
        guard summary.first > last else { continue }
        for block in file.blocks { try note(block, of: file) }
        summaries.append(summary)
      } catch { problems.append("\(error)") }
    }
  }

  /// The path of the file that begins with a sequence.
  static func path(_ first: UInt64, in folder: String) -> String {
    "\(folder)/\(first.digits(16, radix: 16))\(suffix)"
  }

  private mutating func note(_ block: JournalFile.Block, of file: JournalFile) throws(StoreError) {
    let header = block.header
    let before = covered
    if before > 0, header.first > before + 1 {
      gaps.append(JournalGap(first: before + 1, last: header.first - 1, reason: Self.unknownReason))
    }
    if header.kind == .gap {
      gaps.append(JournalGap(first: header.first, last: header.last, reason: try file.contents(of: block).text))
    }
    covered = header.last
  }

  /// The last sequence of the blocks so far.
  private var covered: UInt64 = 0

  /// Calls `body` with each entry in the range until it returns false; returns whether it never did.
  ///
  /// `hides` says which entries belong to a subject that was forgotten later. Files removed meanwhile are skipped.
  func forEach(
    in range: JournalRange, _ files: any FileSystem, hides: (EntryView) -> Bool, _ body: (EntryView) -> Bool
  ) throws(StoreError) -> Bool {
    let hash = range.subject.map { SubjectFilter.hash(of: $0) }
    for summary in summaries where range.mayMatch(summary) {
      let file: JournalFile
      do throws(StoreError) {
        file = try JournalFile(summary.path, files, limit: summary.isComplete ? nil : summary.bytes)
      } catch {
        if !files.exists(summary.path) { continue }
        throw error
      }
      for block in file.blocks where block.header.kind.hasEntries && range.mayMatch(block.header) {
        if let hash, !block.filter.mayContain(hash) { continue }
        let isWhole = try file.forEach(in: block) { (view) throws(StoreError) in
          !range.matches(view) || hides(view) || body(view)
        }
        guard isWhole else { return false }
      }
    }
    return true
  }
}

extension SubjectFilter {
  /// The hash of a subject.
  static func hash(of subject: String) -> UInt64 {
    return subject.withView { hash($0) }
  }
}

extension JournalRange {
  /// Whether a file may have entries in the range.
  fileprivate func mayMatch(_ summary: FileSummary) -> Bool {
    mayMatch(summary.first, summary.last, summary.earliest, summary.latest)
  }

  /// Whether a block may have entries in the range.
  fileprivate func mayMatch(_ header: BlockHeader) -> Bool {
    mayMatch(header.first, header.last, header.earliest, header.latest)
  }

  private func mayMatch(_ first: UInt64, _ last: UInt64, _ earliest: Int64, _ latest: Int64) -> Bool {
    first <= self.last && last >= self.first && (since.map { latest >= $0.microseconds } ?? true)
      && (until.map { earliest <= $0.microseconds } ?? true)
  }

  /// Whether an entry is in the range.
  func matches(_ view: EntryView) -> Bool {
    guard view.sequence >= first, view.sequence <= last else { return false }
    if let since, view.at < since.microseconds { return false }
    if let until, view.at > until.microseconds { return false }
    guard let subject else { return true }
    return view.subject.elementsEqual(subject.utf8)
  }
}
