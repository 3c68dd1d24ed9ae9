package import RuledCore
package import RuledStore
import RuledThreads
import Synchronization

/// The journal of a store: it consumes sealed segments of the log, and keeps their entries in files of its own.
///
/// The entries of a segment are durable in the journal before the segment is reused. If a segment comes again after a crash, entries up to
/// the last known sequence are skipped. A failure of the journal loses entries but stops nothing else: the gap is noted, and the journal
/// goes on once it can.
package final class Journal: SegmentConsumer, @unchecked Sendable {  // `writing` guards what changes
  package let folder: String
  let files: any FileSystem
  /// Held by the thread that writes files, creates them or removes them.
  let writing = Condition()
  private(set) var settings: Configuration.Journal
  private var isOpen = false
  /// The compression level of zstd.
  let level: Int32
  private let builder: BlockBuilder
  private let block = ByteBuffer(capacity: 256 << 10)
  private var reader = CommitReader()
  private(set) var writer: JournalFileWriter?
  private(set) var redaction: Redaction?
  /// The last consumed sequence, whether its entry is kept or not.
  private var last: UInt64 = 0
  /// Whether it has to have all entries after `last`, so that missing ones are a gap; an empty journal has not, as it may have been off before.
  private var isWhole = false
  /// Why entries are being lost; nil if they are not.
  private var writeError: StoreError?
  let published = Mutex(State())

  /// The durable contents that readers see.
  struct State: Sendable {
    var contents = JournalFiles()
    var forgotten = ForgottenSubjects()
    var failure: (error: StoreError, gap: JournalGap)?
    var figures = Figures()
  }

  /// The counts of a journal since the start.
  package struct Figures: Sendable {
    package var entries = 0
    /// Bytes of entries before they were compressed.
    var plainBytes = 0
    var blockBytes = 0
  }

  /// Called whenever a file is complete.
  private let completed = Mutex<(@Sendable () -> Void)?>(nil)

  /// From now on `body` is called whenever a file is complete, so that the journal is kept within its room.
  package func notify(_ body: @escaping @Sendable () -> Void) { completed.withLock { $0 = body } }

  /// The size in bytes from which on a file is complete: files are removed whole, so each is a small part of the journal's room.
  func fileBytes(_ settings: Configuration.Journal) -> Int { min(64 << 20, max(settings.maxBytes / 8, 256 << 10)) }

  /// The journal in `folder`; its files are opened at the first use.
  package init(
    folder: String, settings: Configuration.Journal, files: any FileSystem = SystemFiles(), level: Int32 = 1
  ) {
    self.folder = folder
    self.settings = settings
    self.files = files
    self.level = level
    builder = BlockBuilder(level: level)
    redaction = Redaction(settings.redact)
  }

  package convenience init(of store: String, settings: Configuration.Journal) {
    self.init(folder: "\(store)/\(Self.folderName)", settings: settings)
  }

  package static let folderName = "journal"

  /// The first and the last sequence in the files, 0 if there is none, and the times of the earliest and the latest entry.
  package var summary: (first: UInt64, last: UInt64, since: Timestamp?, until: Timestamp?) {
    let contents = state.contents
    let files = contents.summaries.filter { $0.entries > 0 }
    return (
      contents.first, contents.last, files.map(\.earliest).min().map { Timestamp(microseconds: $0) },
      files.map(\.latest).max().map { Timestamp(microseconds: $0) }
    )
  }

  package var failure: JournalFailure? {
    state.failure.map { JournalFailure(reason: $0.error.description, gap: $0.gap) }
  }

  /// The counts since the start, the number of files, and their size in bytes.
  package var figures: (taken: Figures, files: Int, bytes: Int) {
    let state = state
    return (state.figures, state.contents.summaries.count, state.contents.bytes)
  }

  /// The damages of the files that are known so far, a sentence each; more may be found as the files are read.
  package var damages: [String] {
    let contents = state.contents
    return contents.problems
      + contents.gaps.filter(\.isDamage).map {
        "the entries from sequence \($0.first) to \($0.last) are lost: \($0.reason)"
      }
  }

  func note(_ damage: JournalGap) { published.withLock { $0.contents.note(damage) } }

  var state: State { published.withLock { $0 } }

  package func adopt(_ settings: Configuration.Journal) {
    writing.locked {
      self.settings = settings
      redaction = Redaction(settings.redact)
    }
  }

  let marks = LogMarks()

  // MARK: Consuming segments

  package func consume(_ commits: LoggedCommits) {
    writing.locked {
      open()
      resume()
      let before = state.forgotten
      var forgotten = before
      commits.forEach { commit in
        reader.read(commit, after: last) { view in
          if view.origin == .forget { _ = forgotten.add(view.subject, through: view.sequence) }
          if view.sequence == torn?.header.first { cutTorn() }
          if !view.flags.contains(.isSilent), view.sequence > last { take(view) }
        }
      }
      writeBlock()
      if writeError == nil {
        attempt { () throws(StoreError) in
          try writer?.sync()
          if forgotten != before { try forgotten.write(to: folder, files) }
        }
      }
      publish(forgotten)
    }
  }

  package func consume(salvaged commits: LoggedCommits, after last: UInt64) {
    writing.locked {
      open()
      self.last = max(self.last, last)
      isWhole = true
    }
    consume(commits)
  }

  /// Notes that the change with that sequence, and any before it that the journal does not have, were lost when a damaged log was salvaged.
  package func noteSalvage(losing sequence: UInt64) {
    writing.locked {
      open()
      guard sequence > last else { return }
      noteGap(JournalGap(first: last + 1, last: sequence, reason: JournalFiles.salvageReason))
      last = sequence
      attempt { () throws(StoreError) in try writer?.sync() }
      publish(state.forgotten)
    }
  }

  /// Under `writing`.
  private func open() {
    guard !isOpen else { return }
    attempt { () throws(StoreError) in
      try files.createFolder(folder)
      for name in try files.names(in: folder) where name.hasSuffix(".new") { try files.remove("\(folder)/\(name)") }
      var contents = try JournalFiles(in: folder, files)
      for path in contents.empty { try files.remove(path) }
      let (forgotten, damage) = try ForgottenSubjects.read(in: folder, or: contents, files)
      if let damage {
        try forgotten.write(to: folder, files)
        contents.problems.append(
          "\(damage); it was made anew of the entries: forget those subjects again of which the store had nothing"
        )
      }
      last = max(last, contents.last)
      published.withLock { [contents] in
        $0.contents = contents
        $0.forgotten.formUnion(forgotten)
      }
      if let summary = contents.summaries.last { try sync(summary.path) }
      if let summary = contents.summaries.last, !summary.isComplete {
        let file = try JournalFile(summary.path, files)
        torn = file.blocks.first { $0.isDamage }
        if torn == nil {
          writer = try JournalFileWriter(continuing: file, files)
          if file.isEarlier, let writer { try complete(writer) }  // nothing is added to a file of an earlier format
        }
      }
      isOpen = true
    }
  }

  /// The first damage in the last file of an earlier process; such a file is not continued.
  private var torn: JournalFile.Block?

  /// Removes what follows the damage from the last file: the log has it again, so a power cut may have torn it before it was synced.
  private func cutTorn() {
    guard let block = torn, let path = state.contents.summaries.last?.path else { return }
    torn = nil
    attempt { () throws(StoreError) in
      try files.open(path, .update).resize(to: block.offset)
      last = block.header.first - 1
      isOpen = false
    }
    open()
  }

  /// Syncs the file of an earlier process: its bytes may be in the page cache only, and are not consumed from the log again.
  private func sync(_ path: String) throws(StoreError) {
    try files.open(path, .update).sync()
    try files.syncFolder(folder)
  }

  /// Opens the folder now.
  package func start() { writing.locked { open() } }

  /// Ends the current file if it has entries, so that nothing is added to it any more.
  func completeCurrent() {
    writing.locked {
      open()
      guard writeError == nil, let writer else { return }
      attempt { () throws(StoreError) in try complete(writer) }
    }
  }

  /// Adds the entries after its own from a file of another journal, which has redacted them; without own ones it begins with the file's first.
  func take(entriesOf path: String) {
    writing.locked {
      open()
      var forgotten = state.forgotten
      attempt { () throws(StoreError) in
        let file = try JournalFile(path, files)
        guard let first = file.blocks.first?.header.first else { return }
        last = max(last, first - 1)
        for block in file.blocks where block.header.last > last {
          _ = try file.forEach(in: block) { view in
            guard view.sequence > last else { return true }
            if view.origin == .forget, !view.subject.isEmpty { _ = forgotten.add(view.subject, through: view.sequence) }
            builder.cover(last + 1)
            builder.add(view)
            last = view.sequence
            return true
          }
          builder.cover(block.header.last)
          last = block.header.last
          writeBlock()
        }
        try writer?.sync()
        try forgotten.write(to: folder, files)
      }
      publish(forgotten)
    }
  }

  /// Under `writing`.
  private func take(_ view: EntryView) {
    if isWhole || last > 0, view.sequence > last + 1 {
      writeBlock()
      let reason = isWhole ? JournalFiles.salvageReason : JournalFiles.unknownReason
      noteGap(JournalGap(first: last + 1, last: view.sequence - 1, reason: reason))
    }
    last = view.sequence
    guard writeError == nil else { return }
    if let redaction {
      redaction.apply(to: view) { builder.add($0) }
    } else {
      builder.add(view)
    }
    if builder.isFull { writeBlock() }
  }

  private func writeBlock() {
    guard !builder.isEmpty else { return }
    guard writeError == nil else { return builder.removeAll() }
    attempt { () throws(StoreError) in
      block.removeAll()
      let header = builder.finish(into: block)
      try put(header)
      published.withLock {
        $0.figures.entries += header.entries
        $0.figures.plainBytes += header.plainBytes
        $0.figures.blockBytes += header.total
      }
    }
  }

  private func noteGap(_ gap: JournalGap) {
    guard writeError == nil else { return }
    attempt { () throws(StoreError) in try write(gap) }
  }

  private func write(_ gap: JournalGap) throws(StoreError) {
    block.removeAll()
    try put(gap.write(into: block))
    pendingGaps.append(gap)
  }

  /// The gaps in the file in progress that are not published.
  private var pendingGaps: [JournalGap] = []

  /// Writes the block in `block` to the current file, or to a new one.
  private func put(_ header: BlockHeader) throws(StoreError) {
    if writer == nil {
      let path = JournalFiles.path(header.first, in: folder)
      writer = try JournalFileWriter(creating: path, files)
      try files.syncFolder(folder)
    }
    guard let writer else { return }
    try makeRoom(for: writer, adding: header)
    try writer.append(block.bytes, header)
    let file = writer.summary
    // A file that spans much time would keep its oldest entries much longer than configured.
    let isOld = file.entries > 0 && file.latest - file.earliest > settings.keep / 8
    if file.bytes >= fileBytes(settings) || isOld { try complete(writer) }
  }

  /// Removes the oldest files if all would take too much room with the next block of the current one.
  private func makeRoom(for writer: JournalFileWriter, adding header: BlockHeader) throws(StoreError) {
    let room = settings.maxBytes - writer.bytes(adding: header)
    while let oldest = state.contents.summaries.first, oldest.path != writer.summary.path,
      state.contents.summaries.reduce(0, { $1.path == writer.summary.path ? $0 : $0 + $1.bytes }) > room
    {
      try remove(oldest)
    }
  }

  private func complete(_ writer: JournalFileWriter) throws(StoreError) {
    try writer.finish()
    self.writer = nil
    publish(writer.summary)
    completed.withLock { $0 }?()
  }

  /// Shows readers a file, all of which is durable.
  private func publish(_ summary: FileSummary) {
    published.withLock { state in
      if state.contents.summaries.last?.path == summary.path { state.contents.summaries.removeLast() }
      state.contents.summaries.append(summary)
      for gap in pendingGaps { state.contents.note(gap) }
    }
    pendingGaps = []
  }

  // MARK: Failures

  /// Runs `body`; if it fails, all entries after the last durable one are lost, until `resume` succeeds.
  private func attempt(_ body: () throws(StoreError) -> Void) {
    do throws(StoreError) { try body() } catch {
      writer?.discard(in: files)
      writer = nil
      builder.removeAll()
      pendingGaps = []
      writeError = error
    }
  }

  /// Resumes after a failure, in a new file that begins with the gap.
  private func resume() {
    guard let reason = writeError, isOpen else { return }
    writeError = nil
    let known = state.contents.last
    guard last > known else { return }
    attempt { () throws(StoreError) in
      try write(JournalGap(first: known + 1, last: last, reason: reason.message))
      try writer?.sync()
    }
    if writeError != nil { writeError = reason }
  }

  /// Resumes after a failure, without waiting for the next segment of the log.
  package func retry() {
    writing.locked {
      guard writeError != nil else { return }
      open()
      resume()
      publish(state.forgotten)
    }
  }

  private func publish(_ forgotten: ForgottenSubjects) {
    if writeError == nil, let writer { publish(writer.summary) }
    published.withLock { state in
      state.forgotten = forgotten
      state.failure = writeError.map {
        ($0, JournalGap(first: state.contents.last + 1, last: last, reason: $0.message))
      }
    }
  }
}

/// Why entries are being lost, and which.
package struct JournalFailure: Sendable, Equatable {
  package let reason: String
  /// The entries lost so far.
  package let gap: JournalGap
}
