package import RuledCore

/// Saves the whole commits of a store with a damaged log, so that it can be opened again; keeps a copy of the damaged log.
///
/// Commits behind damage are applied like those before it: each writes whole values, so a subject that changed again later ends with its last state. The
/// contents of damaged bytes are lost; the report names the subjects that can be read in them.
package struct LogSalvage {
  /// The saved commits, and the lost ones.
  package struct Report {
    /// The folder of the copy; nil when there was nothing to salvage.
    package fileprivate(set) var copy: String?
    /// The damages, a sentence each, with file and offset.
    package fileprivate(set) var damages: [String] = []
    /// The subjects whose names can be read in lost bytes, in byte order.
    package fileprivate(set) var subjects: [String] = []
    /// The number of batches saved from the log.
    package fileprivate(set) var saved = 0
    /// The sequence that stands for all changes lost behind the last saved one; nil if none was lost there.
    package fileprivate(set) var lost: UInt64?
  }

  private let path: String
  private let files: any FileSystem
  private let settings: LogSettings
  private var report = Report()
  private var names: Set<String> = []
  /// Whether something was lost behind the last saved commit.
  private var hasLostEnd = false

  private var folder: String { path + "/log" }

  /// A salvage of the store in the folder `path`, which no process may have open.
  package init(path: String) { self.init(path: path, files: SystemFiles(), settings: LogSettings()) }

  init(path: String, files: any FileSystem, settings: LogSettings) {
    self.path = path
    self.files = files
    self.settings = settings
  }

  /// Salvages the store, unless it opens as it is; `now` names the copy.
  ///
  /// `journal` gets its records from the log. Throws `corrupt` when the database itself can't be opened; then only a backup helps.
  package mutating func run(now: Timestamp, journal: (any SegmentConsumer)? = nil) throws(StoreError) -> Report {
    do throws(StoreError) {
      try RocksStore(path: path, blockCacheBytes: 1 << 20, files: files, settings: settings, journal: journal).close()
      return Report()
    } catch {
      // The log without the database would be a store of its own.
      guard error.code == .corrupt, files.exists("\(path)/CURRENT") else { throw error }
      report.damages.append(error.message)
    }
    let lock = try FolderLock(folder: path)
    defer { withExtendedLifetime(lock) {} }
    try keepCopy(now)
    let options = RocksOptions(blockCacheBytes: 1 << 20)
    let database = try RocksDatabase(path: path, options: options)
    _ = try StoreFormat.check(database, path: path)
    try files.createFolder(folder)
    let ingestion = SegmentIngestion(folder: folder, files: files, options: options)
    let taken = try SegmentIngestion.flushed(in: database)
    var last = taken
    for number in try RedoLog.numbers(in: folder, files) where number > taken {
      guard let segment = try save(number) else { continue }
      journal?.consume(
        salvaged: LoggedCommits(segment, end: segment.end),
        after: try StoredValue.sequence.read(from: database)?.number ?? 0)
      try ingestion.ingest(segment, into: database)
      last = number
    }
    if hasLostEnd { report.lost = try skipSequence(in: database) }
    let numbers = try RedoLog.numbers(in: folder, files)
    try LogManifest.write(.init(flushed: last, last: last, next: max(last, numbers.last ?? 0) + 1), to: path, files)
    for number in numbers { try files.remove(RedoLog.path(number, in: folder)) }
    report.subjects = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return report
  }

  /// Takes the next sequence for the lost changes, so that no later change has it.
  private func skipSequence(in database: RocksDatabase) throws(StoreError) -> UInt64 {
    let next = (try StoredValue.sequence.read(from: database)?.number ?? 0) + 1
    try StoredValue.sequence.put(into: database) { $0.append(bigEndian: next) }
    return next
  }

  // MARK: The copy

  private static let prefix = "salvaged-"

  package static func removeCopies(of path: String) throws(StoreError) {
    for name in try Folder.names(path) where name.hasPrefix(prefix) { try BackupFiles.remove("\(path)/\(name)") }
  }

  private mutating func keepCopy(_ now: Timestamp) throws(StoreError) {
    let copy = "\(path)/\(Self.prefix)\(now.rfc3339.filter { $0.isNumber || $0 == "T" })"
    try files.createFolder(copy)
    report.copy = copy
    if files.exists("\(path)/\(LogManifest.name)") {
      try self.copy("\(path)/\(LogManifest.name)", to: "\(copy)/\(LogManifest.name)")
    }
    for number in try RedoLog.numbers(in: folder, files) {
      try self.copy(RedoLog.path(number, in: folder), to: RedoLog.path(number, in: copy))
    }
    try files.syncFolder(copy)
  }

  private func copy(_ source: String, to target: String) throws(StoreError) {
    try files.contents(of: source).withView { (bytes) throws(StoreError) in try files.create(target, with: bytes) }
  }

  // MARK: The files

  /// The end of a file by the header of the next file; nil if that header does not say it.
  private func end(of number: UInt64) throws(StoreError) -> Int? {
    for next in try RedoLog.numbers(in: folder, files) where next > number {
      let source = try files.open(RedoLog.path(next, in: folder), .read)
      guard let header = try LogFrame.FileHeader(of: source), header.predecessor == number else { continue }
      return header.predecessorEnd > 0 ? header.predecessorEnd : nil
    }
    return nil
  }

  /// All whole commits of a file as a segment; nil when there are none.
  private mutating func save(_ number: UInt64) throws(StoreError) -> Segment? {
    let source = try files.open(RedoLog.path(number, in: folder), .read)
    let size = try source.size()
    let end = min(size, try end(of: number) ?? size)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(end, 8), alignment: 8)
    defer { room.deallocate() }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: room[..<end])
    try source.read(into: bytes, at: 0)
    let segment = try Segment(
      LogFrame.FileHeader(number: number, predecessor: 0, length: 0), payload: end, settings: settings)
    forEachCommit(in: ByteView(bytes), of: number) { payload in
      segment.extend(over: segment.stage(payload))
      segment.commit(to: segment.end)
    }
    return segment.isEmpty ? nil : segment
  }

  private mutating func forEachCommit(in bytes: ByteView, of number: UInt64, _ body: (ByteView) -> Void) {
    var offset = LogFrame.fileHeader
    while let frame = LogFrame.search(bytes, from: offset, number: number) {
      if frame.offset > offset {
        noteLost(bytes.extracting(offset..<frame.offset), at: offset, of: number)
      }
      if frame.kind == .commit {
        body(bytes.extracting((frame.offset + LogFrame.header)..<frame.end))
        report.saved += 1
        hasLostEnd = false
      }
      offset = frame.end
    }
    guard LogFrame.isBegun(bytes, at: offset, number: number) else { return }
    guard let base = bytes.baseAddress else { return }
    let end = min(bytes.count, offset + LogFrame.header + min(LogFrame.payload(at: offset, in: base), bytes.count))
    noteLost(bytes.extracting(offset..<end), at: offset, of: number)
  }

  /// Notes a gap, and the subjects that can be read in it.
  private mutating func noteLost(_ gap: ByteView, at offset: Int, of number: UInt64) {
    report.damages.append(
      "\(RedoLog.path(number, in: folder)): the \(gap.count) bytes from \(offset) on are no whole commits and are left out"
    )
    hasLostEnd = true
    guard gap.count > LogFrame.header else { return }
    WriteRecords.forEachKey(inDamaged: gap.extracting(LogFrame.header...)) { key in
      if let subject = KeyScope.subjectName(of: key) { names.insert(subject) }
    }
  }
}
