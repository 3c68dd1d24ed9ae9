import RuledCore
import RuledStore

/// The files in a journal's folder, the earliest first, and the gaps between them.
struct JournalFiles: Sendable {
  var summaries: [FileSummary] = []
  /// The missing sequences between the first and the last entry, in their order.
  private(set) var gaps: [JournalGap] = []
  /// The unreadable files, and why.
  var problems: [String] = []
  /// The files that cover nothing: nothing but a torn end was written to them.
  private(set) var empty: [String] = []
  /// The last sequence that they cover; 0 for none.
  var last: UInt64 { summaries.last?.last ?? 0 }
  /// The first sequence that they cover; 0 for none.
  var first: UInt64 { summaries.first?.first ?? 0 }

  var bytes: Int { summaries.reduce(0) { $0 + $1.bytes } }

  static let suffix = ".rj"
  static let unknownReason =
    "no reason is known: the journal was off, the daemon ended while the journal could not be written, or the end of a file was damaged"

  static let salvageReason = "the log was damaged, and --salvage left out what could not be read"

  init() {}

  init(in folder: String, _ files: any FileSystem) throws(StoreError) {
    guard files.exists(folder) else { return }
    let names = try files.names(in: folder).filter { $0.hasSuffix(Self.suffix) }.sorted()
    for (index, name) in names.enumerated() {
      do throws(StoreError) {
        let path = "\(folder)/\(name)"
        let next = names.dropFirst(index + 1).first.flatMap { JournalFile.first(inNameOf: $0) }
        let file = try JournalFile(path, files, through: next.map { $0 - 1 })
        let summary = FileSummary(file)
        if summary.first == 0 { empty.append(path) }
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
      do throws(StoreError) {
        gaps.append(JournalGap(first: header.first, last: header.last, reason: try file.contents(of: block).text))
      } catch { gaps.append(JournalGap(header, unreadable: error)) }
    }
    covered = header.last
  }

  /// Adds a gap, in place of one of the same sequences.
  mutating func note(_ gap: JournalGap) {
    gaps.removeAll { $0.first == gap.first && $0.last == gap.last }
    gaps.insert(gap, at: gaps.firstIndex { $0.first > gap.first } ?? gaps.endIndex)
  }

  /// Leaves out the oldest file.
  mutating func removeOldest() {
    summaries.removeFirst()
    let first = first
    gaps.removeAll { $0.last < first }
  }

  /// The time of the latest entry of the oldest file, in microseconds: if none can be read there, that of the first one behind it; nil if there is none.
  var oldestTime: Int64? {
    summaries.first { $0.entries > 0 }.map { $0.path == summaries.first?.path ? $0.latest : $0.earliest }
  }

  /// The last sequence of the blocks so far.
  private var covered: UInt64 = 0

  /// Calls `body` with each entry in the range until it returns false; returns whether it never did.
  ///
  /// `hides` says which entries belong to a subject that was forgotten later. Files removed meanwhile are skipped, and so are blocks that can't
  /// be read, which `noteDamage` gets.
  func forEach(
    in range: JournalRange, _ files: any FileSystem, hides: (EntryView) -> Bool, noteDamage: (JournalGap) -> Void,
    _ body: (EntryView) -> Bool
  ) throws(StoreError) -> Bool {
    let hash = range.subject.map { SubjectFilter.hash(of: $0) }
    for summary in summaries where range.mayMatch(summary) {
      let file: JournalFile
      do throws(StoreError) {
        file = try summary.open(files)
      } catch {
        if !files.exists(summary.path) { continue }
        throw error
      }
      for block in file.blocks where block.isDamage || block.header.kind.hasEntries && range.mayMatch(block.header) {
        if let hash, !block.filter.mayContain(hash) { continue }
        do throws(StoreError) {
          let isWhole = try file.forEach(in: block) { (view) throws(StoreError) in
            !range.matches(view) || hides(view) || body(view)
          }
          guard isWhole else { return false }
        } catch { noteDamage(JournalGap(block.header, unreadable: error)) }
      }
    }
    return true
  }
}

extension JournalRange {
  fileprivate func mayMatch(_ summary: FileSummary) -> Bool {
    mayMatch(summary.first, summary.last, summary.earliest, summary.latest)
  }

  fileprivate func mayMatch(_ header: BlockHeader) -> Bool {
    mayMatch(header.first, header.last, header.earliest, header.latest)
  }

  private func mayMatch(_ first: UInt64, _ last: UInt64, _ earliest: Int64, _ latest: Int64) -> Bool {
    first <= self.last && last >= self.first && (since.map { latest >= $0.microseconds } ?? true)
      && (until.map { earliest <= $0.microseconds } ?? true)
  }

  func matches(_ view: EntryView) -> Bool {
    guard view.sequence >= first, view.sequence <= last else { return false }
    if let since, view.at < since.microseconds { return false }
    if let until, view.at > until.microseconds { return false }
    guard let subject else { return true }
    return view.subject.elementsEqual(subject.utf8)
  }
}
