import RuledCore
import RuledThreads
import TestSupport

@testable import RuledStore

/// A whole store, its log and RocksDB, on a simulated disk, and the model of what was committed.
///
/// The test flushes by itself. RocksDB's own threads make their calls at any time.
final class RocksWorld {
  /// The state that a start finds.
  struct Found {
    var disk: DiskState
    var model: CommitModel
    var keepsCommitted: Bool
  }

  /// The disk.
  let files: RocksDisk
  private let path: String
  private let settings: LogSettings
  private let shared = Condition()
  /// The model; guarded by `shared`, because states are also taken at calls of RocksDB's threads.
  private var model: CommitModel
  private var trusted: (isWhole: Bool, failures: Int)
  private var random: SeededRandom
  private var store: RocksStore?
  private var notes: [(place: Int, text: String)] = []

  /// A world that begins with that state; `path` is a folder for the store's lock.
  init(_ found: Found, path: String, seed: UInt64, settings: LogSettings) {
    files = RocksDisk(SimulatedDisk(found.disk, seed: seed &+ 1))
    model = found.model
    trusted = (found.keepsCommitted, 0)
    random = SeededRandom(seed: seed)
    self.path = path
    self.settings = settings
  }

  deinit { store = nil }

  /// An empty disk.
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
        keepsCommitted: trusted.isWhole && trusted.failures == files.disk.failures)
    }
  }

  private func note(_ text: String) { notes.append((files.disk.callCount, text)) }

  private func change(_ body: (inout CommitModel) -> Void) { shared.locked { body(&model) } }

  private func trustCache() { shared.locked { trusted = (true, files.disk.failures) } }

  /// Opens the store; gives what is wrong with its content.
  func open() throws(StoreError) -> String? {
    let opened = try RocksStore(
      path: path, blockCacheBytes: 1 << 16, flushes: false, files: files.disk, environment: files.environment,
      settings: settings)
    store = opened
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
    note("opened\(problem.map { ": " + $0 } ?? "")")
    return problem
  }

  /// Ends like a kill.
  func leave() { store = nil }

  /// Does one random thing that a daemon does.
  func step() {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4: commit(durable: false)
    case 4..<7: commit(durable: true)
    default: flush()
    }
  }

  /// Commits random writes.
  func commit(durable: Bool, bytes: Int? = nil) {
    for _ in 0..<settings.longestBacklog { flush() }
    var commit: CommitModel.Commit?
    let most = bytes ?? (Int.random(in: 0..<3, using: &random) == 0 ? settings.segmentBytes / 2 : 400)
    change { commit = $0.next(most: most, &random) }
    guard let store, let commit else { return }
    note("commit \(commit.number)\(durable ? " durably" : "")")
    do throws(StoreError) {
      try store.commit(commit.set, durable: durable)
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

  private func repair() {
    for _ in 0..<3 {
      note("reopen")
      do throws(StoreError) {
        try store?.reopen()
        change { $0.note(all: [.open, .unknown], .lost) }
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
