import RuledCore
import RuledJSON
import TestSupport

@testable import RuledJournal
@testable import RuledStore

/// A store with a journal, which a test fills as the daemon does.
final class JournalRig {
  let folder: TemporaryFolder
  let files: InterruptedFiles
  private(set) var journal: Journal
  private var opened: RocksStore?
  private(set) var sequence: UInt64 = 0
  private var versions: [String: UInt64] = [:]
  private var settings = Configuration.Journal()
  private let flushes: Bool

  /// A new store; with `flushes` it has a thread that flushes.
  init(
    _ files: InterruptedFiles = InterruptedFiles(), flushes: Bool = false,
    _ change: (inout Configuration.Journal) -> Void = { _ in }
  ) throws {
    folder = TemporaryFolder()
    self.files = files
    self.flushes = flushes
    change(&settings)
    journal = Journal(folder: folder.path + "/store/journal", settings: settings, files: files)
    opened = try Self.open(folder, journal, flushes)
  }

  var store: RocksStore {
    guard let opened else { preconditionFailure("the store is open") }
    return opened
  }

  private static func open(_ folder: TemporaryFolder, _ journal: Journal, _ flushes: Bool) throws -> RocksStore {
    try RocksStore(
      path: folder.path + "/store", blockCacheBytes: 1 << 20, flushes: flushes,
      settings: LogSettings(segmentBytes: 1 << 16, longestBacklog: 100), journal: journal)
  }

  /// Ends the process without closing anything, and starts it again.
  func restart() throws {
    end()
    journal = Journal(folder: journal.folder, settings: settings, files: files)
    opened = try Self.open(folder, journal, flushes)
  }

  /// Ends the process without closing anything.
  func end() { opened = nil }

  var source: LiveJournal { LiveJournal(journal, of: store) }

  /// Commits an event of a client for a subject.
  func send(
    _ subject: String, _ data: String = "{}", at: Int64? = nil, decisions: String = "", effects: String = "",
    hasID: Bool = true
  ) throws {
    let writes = WriteSet()
    try add(subject, data, at: at, decisions: decisions, effects: effects, hasID: hasID, to: writes)
    commit(writes)
  }

  /// Commits several events in one batch.
  func sendTogether(_ subjects: [String]) throws {
    let writes = WriteSet()
    for subject in subjects { try add(subject, "{}", at: nil, decisions: "", effects: "", hasID: true, to: writes) }
    commit(writes)
  }

  private func add(
    _ subject: String, _ data: String, at: Int64?, decisions: String, effects: String, hasID: Bool, to writes: WriteSet
  ) throws {
    sequence += 1
    versions[subject, default: 0] += 1
    let time = at ?? Int64(sequence) * 1_000_000
    let id = "id-\(sequence)"
    let text = "{\"type\":\"t\",\"subject\":\"\(subject)\"" + (hasID ? ",\"id\":\"\(id)\"" : "") + ",\"data\":\(data)}"
    let none = ByteView.empty
    let parts = ByteBuffers("r1", decisions, effects)
    let outcome = RememberedOutcome(
      version: versions[subject] ?? 0, revision: parts[0], decisions: parts[1], effects: parts[2], failures: none)
    let value = ByteBuffer()
    outcome.write(expiring: 0, id: none, digest: 0, into: value)
    put(
      StoreKey.bytes { StoreKey.outcome(expiring: 1, Array(subject.utf8), source: [], id: Array(id.utf8), into: $0) },
      value, to: writes)
    let record = ByteBuffer()
    SubjectRecord.writeHeader(version: outcome.version, until: RememberedUntil(), recent: [], into: record)
    ByteBuffers("{\"n\":\(sequence)}").with(0) { SubjectRecord.writePlugin(Array("p".utf8), state: $0, into: record) }
    put(StoreKey.bytes { StoreKey.record(Array(subject.utf8), into: $0) }, record, to: writes)
    let head = ByteBuffer()
    EntryHead.write(.client, lacksID: !hasID, at: time, now: time, into: head)
    ByteBuffers(text).with(0) { writes.journal(head.bytes, $0) }
  }

  /// Commits that a subject is erased.
  func forget(_ subject: String) throws {
    let writes = WriteSet()
    sequence += 1
    try store.scan(from: [], to: nil) { key, _ in
      if (try? ParsedKey(key))?.subject?.elementsEqual(subject.utf8) == true { writes.delete(key) }
      return true
    }
    let head = ByteBuffer()
    EntryHead.write(.forget, at: Int64(sequence) * 1_000_000, now: Int64(sequence) * 1_000_000, into: head)
    ByteBuffers(subject).with(0) { writes.journal(head.bytes, $0) }
    commit(writes)
  }

  /// Commits changes that have no records for the journal, as while it is off.
  func changeWithoutJournal(_ count: UInt64) {
    sequence += count
    commit(WriteSet())
  }

  private func commit(_ writes: WriteSet) {
    let number = ByteBuffer()
    number.append(bigEndian: sequence)
    put(StoreKey.bytes { StoreKey.daemon(StoreKey.sequenceName, into: $0) }, number, to: writes)
    try? store.commit(writes, durable: false)
  }

  private func put(_ key: [UInt8], _ value: ByteBuffer, to writes: WriteSet) {
    key.withView { writes.put($0, value.bytes) }
  }

  /// Seals and flushes what is committed.
  func flush() throws {
    guard !flushes else { return try store.flushAll() }
    try store.seal()
    while store.disk?.sealedSegments ?? 0 > 0 { try store.flushOnce() }
  }

  func entries(_ range: JournalRange = JournalRange(), of source: (any JournalSource)? = nil) throws -> [JournalEntry] {
    var found: [JournalEntry] = []
    try (source ?? self.source).forEach(in: range) {
      found.append($0)
      return true
    }
    return found
  }

  /// The journal's folder as tools read it.
  var tools: FolderJournal { get throws { try FolderJournal(folder: journal.folder) } }

  /// Whether a text is in any file below the journal's folder, blocks decompressed.
  func isAnywhere(_ text: String) throws -> Bool { try !files(with: text).isEmpty }

  /// The files below a folder, that of the journal without one, that have a text, blocks decompressed.
  func files(with text: String, in folder: String? = nil) throws -> [String] {
    let folder = folder ?? journal.folder
    let needle = Array(text.utf8)
    var found: [String] = []
    for entry in try BackupFiles.list(folder) {
      let path = "\(folder)/\(entry.name)"
      if entry.name.hasSuffix(".rj") {
        let file = try JournalFile(path, SystemFiles())
        for block in file.blocks {
          let contents = try file.contents(of: block)
          var isFound = contents.bytes.contains(needle)
          withExtendedLifetime(contents) {}
          if block.header.kind.hasEntries {
            _ = try file.forEach(in: block) { (view) throws(StoreError) in
              // a text may be put together from what entries have in common
              let parts = [view.subject, view.text, view.id, view.results, view.redacted]
              isFound = isFound || parts.contains { $0.contains(needle) }
              return true
            }
          }
          if isFound { found.append(entry.name) }
        }
      } else if try Data.bytes(of: path).contains(needle) {
        found.append(entry.name)
      }
    }
    return found
  }
}

struct ByteBuffers {
  private let buffers: [ByteBuffer]

  init(_ texts: String...) {
    buffers = texts.map { text in
      let buffer = ByteBuffer()
      buffer.append(contentsOf: text)
      return buffer
    }
  }

  subscript(index: Int) -> ByteView { buffers[index].bytes }

  func with(_ index: Int, _ body: (ByteView) -> Void) {
    body(buffers[index].bytes)
    withExtendedLifetime(buffers) {}
  }
}

enum Data {
  /// The bytes of a file.
  static func bytes(of path: String) throws -> [UInt8] {
    let file = try SystemFiles().open(path, .read)
    var bytes = [UInt8](repeating: 0, count: try file.size())
    try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return bytes
  }
}

extension Sequence where Element == UInt8 {
  func contains(_ needle: [UInt8]) -> Bool {
    let bytes = Array(self)
    guard let first = needle.first, bytes.count >= needle.count else { return false }
    return bytes.indices.dropLast(needle.count - 1).contains { index in
      bytes[index] == first && bytes[index..<(index + needle.count)].elementsEqual(needle)
    }
  }
}
