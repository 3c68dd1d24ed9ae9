import RuledCore
import RuledJournal
import RuledThreads
import TestSupport

@testable import RuledStore

/// A whole store, its log, RocksDB and its journal, on a simulated disk, and the model of what was committed.
///
/// The test flushes by itself. RocksDB's own threads make their calls at any time.
final class RocksWorld {
  /// The state that a start finds.
  struct Found {
    var disk: DiskState
    var model: CommitModel
    var keepsCommitted: Bool
    /// Whether a call has failed so far.
    var hasFailed = false
  }

  let files: RocksDisk
  private let path: String
  private let settings: LogSettings
  private let hasFailed: Bool
  private let shared = Condition()
  /// The model; guarded by `shared`, because states are also taken at calls of RocksDB's threads.
  private var model: CommitModel
  private var trusted: (isWhole: Bool, failures: Int)
  private var random: SeededRandom
  private var store: RocksStore?
  private var journal: Journal?
  /// The number of the last change.
  private var sequence: UInt64 = 0
  private var notes: [(call: Int, text: String)] = []

  /// A world that begins with that state; `path` is a folder for the store's lock.
  init(_ found: Found, path: String, seed: UInt64, settings: LogSettings) {
    files = RocksDisk(SimulatedDisk(found.disk, seed: seed &+ 1))
    model = found.model
    trusted = (found.keepsCommitted, 0)
    random = SeededRandom(seed: seed)
    self.path = path
    self.settings = settings
    hasFailed = found.hasFailed
  }

  deinit { store = nil }

  static func nothing(in path: String) -> Found {
    var empty = DiskState()
    empty.folders = ["/", path]
    return Found(disk: empty, model: CommitModel(), keepsCommitted: false)
  }

  /// The state now, given the content of the disk.
  func found(_ state: DiskState) -> Found {
    shared.locked {
      Found(
        disk: state, model: model,
        keepsCommitted: trusted.isWhole && trusted.failures == files.disk.failures,
        hasFailed: hasFailed || files.disk.failures > 0)
    }
  }

  private func note(_ text: String) { notes.append((files.disk.callCount, text)) }

  private func change(_ body: (inout CommitModel) -> Void) { shared.locked { body(&model) } }

  private func trustCache() { shared.locked { trusted = (true, files.disk.failures) } }

  /// Opens the store; gives what is wrong with its content.
  func open() throws(StoreError) -> String? {
    let failures = files.disk.failures
    let journal = Journal(folder: "\(path)/journal", settings: Configuration.Journal(), files: files.disk)
    let opened = try RocksStore(
      path: path, blockCacheBytes: 1 << 16, flushes: false, files: files.disk, environment: files.environment,
      settings: settings, journal: journal)
    (store, self.journal) = (opened, journal)
    var found = found(DiskState())
    let problem = try found.model.check(keepsCommitted: found.keepsCommitted) { (key) throws(StoreError) in
      let buffer = ByteBuffer()
      let room = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 1)
      defer { room.deallocate() }
      room.copyBytes(from: key)
      return try opened.get(ByteView(room), into: buffer) ? Array(buffer.bytes) : nil
    }
    change { $0 = found.model }
    trustCache()
    sequence = try opened.lastSequence()
    journal.start()
    var wrong = problem
    if wrong == nil { wrong = try journalProblem(journal, of: opened, found.model) }
    note("opened\(wrong.map { ": " + $0 } ?? "")")
    return files.disk.failures == failures ? wrong : problem
  }

  /// What is wrong with the journal; nil when it has what the store has and nothing else, apart from the gaps that it states.
  private func journalProblem(
    _ journal: Journal, of store: RocksStore, _ model: CommitModel
  ) throws(StoreError) -> String? {
    let source = LiveJournal(journal, of: store)
    var entries: [UInt64: String] = [:]
    var last: UInt64 = 0
    var wrong: String?
    try source.forEach(in: JournalRange()) { entry in
      if entry.sequence <= last { wrong = "the journal has \(entry.sequence) after \(last)" }
      last = entry.sequence
      entries[entry.sequence] = String(decoding: entry.event, as: UTF8.self)
      return wrong == nil
    }
    if let wrong { return wrong }
    let gaps = source.gaps
    // A journal begins with the first entry that could be written.
    let first = entries.keys.min() ?? .max
    if let gap = gaps.first, files.disk.failures == 0, !hasFailed {
      return "the journal has a gap without a failure: \(gap)"
    }
    for commit in model.commits where commit.fate == .durable {
      let found = entries.removeValue(forKey: commit.sequence)
      if found == nil, gaps.contains(where: { $0.first <= commit.sequence && commit.sequence <= $0.last }) { continue }
      if found == nil, commit.sequence < first, files.disk.failures > 0 || hasFailed { continue }
      guard found == "\(commit.number)" else {
        return "the journal has \(found ?? "nothing") for commit \(commit.number), sequence \(commit.sequence)"
      }
    }
    return entries.first.map { "the journal has \($0.value) at \($0.key), which the store has not" }
  }

  /// Ends like a kill.
  func leave() { (store, journal) = (nil, nil) }

  /// Does one random thing that a daemon does.
  func step() {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4: commit(durable: false)
    case 4..<7: commit(durable: true)
    default: flush()
    }
  }

  func commit(durable: Bool, bytes: Int? = nil) {
    for _ in 0..<settings.longestBacklog { flush() }
    var commit: CommitModel.Commit?
    let most = bytes ?? (Int.random(in: 0..<3, using: &random) == 0 ? settings.segmentBytes / 2 : 400)
    let next = sequence + 1
    change {
      let made = $0.next(most: most, &random)
      $0.number(made.number, as: next)
      commit = made
    }
    guard let store, let commit else { return }
    let set = commit.set
    Self.addEntry(of: commit.number, at: next, to: set)
    note("commit \(commit.number)\(durable ? " durably" : "")")
    do throws(StoreError) {
      try store.commit(set, durable: durable)
      sequence = next
      change {
        if durable { $0.note(all: [.open, .committed], .durable) } else { $0.note(commit.number, .committed) }
      }
      if durable { trustCache() }
    } catch {
      note("failed\(error.isOutcomeUnknown ? ", fate unknown" : ""): \(error)")
      change { $0.note(commit.number, error.isOutcomeUnknown ? .unknown : .lost) }
      repair()
    }
  }

  /// Adds an entry for the journal, and the number of the last change, as the daemon does.
  private static func addEntry(of commit: Int, at sequence: UInt64, to set: WriteSet) {
    let head = ByteBuffer()
    EntryHead.write(.rules, at: Int64(sequence), now: Int64(sequence), into: head)
    Array("r\(commit)".utf8).withView { EntryHead.write($0, into: head) }
    Array("\(commit)".utf8).withView { set.journal(head.bytes, $0) }
    let (key, value) = (ByteBuffer(), ByteBuffer())
    StoreKey.daemon(StoreKey.sequenceName, into: key)
    value.append(bigEndian: sequence)
    set.put(key.bytes, value.bytes)
  }

  private func repair() {
    for _ in 0..<3 {
      note("reopen")
      do throws(StoreError) {
        try store?.reopen()
        change { $0.note(all: [.open, .unknown], .lost) }
        if let known = try store?.lastSequence() { sequence = known }
        return trustCache()
      } catch {
        note("failed: \(error)")
        flush()
      }
    }
  }

  /// Flushes the sealed segments into RocksDB.
  func flush() {
    do throws(StoreError) { try store?.flushOnce() } catch { note("flush failed: \(error)") }
  }

  /// The steps and the calls.
  var report: String { files.disk.report(notes) }
}
