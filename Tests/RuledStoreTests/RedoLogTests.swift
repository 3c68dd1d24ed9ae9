import Glibc
import RuledCore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledStore

/// Checks what a store recovers from its log after a crash.
///
/// A copy of the running store's folder stands for what a crash leaves.
@Suite(.serialized) struct RedoLogTests {
  private let folder = TemporaryFolder()

  private var live: String { folder.path + "/live" }

  /// The store that a start finds if the process dies now.
  private func crashed(_ name: String = "crashed") throws -> RocksStore {
    TemporaryFolder.copy(live, to: folder.path + "/" + name)
    return try unflushed(folder.path + "/" + name)
  }

  /// A store without background work, so that a copy of its folder is of one moment.
  private func unflushed(
    _ path: String, _ settings: LogSettings = LogSettings(), files: any FileSystem = SystemFiles()
  ) throws -> RocksStore {
    try RocksStore(path: path, blockCacheBytes: 1 << 20, flushes: false, files: files, settings: settings)
  }

  private func logs(in store: String) throws -> [String] {
    try Folder.names(store + "/log").filter { $0.hasSuffix(".log") }.sorted().map { "\(store)/log/\($0)" }
  }

  /// Writes of records and of remembered outcomes, which the flush thread puts into separate files.
  @Test(arguments: [1, 700, 100_000], ["ra", "d2107a"])
  func `commits are there after a crash`(size: Int, kind: String) throws {
    let store = try unflushed(live)
    for round in 0..<60 { try store.put("\(kind)\(round)", String(repeating: "a", count: size)) }
    #expect(try store.text("\(kind)7")?.utf8.count == size)
    try store.put("\(kind)7", "again")
    let set = WriteSet()
    set.delete(Array("\(kind)8".utf8))
    try store.commit(set, durable: true)
    #expect(try store.text("\(kind)8") == nil)
    let found = try crashed()
    #expect(try found.pairs() == store.pairs())
    #expect(try found.pairs().count == 59)
    #expect(try found.text("\(kind)7") == "again")
    let copy = folder.path + "/flushed"
    TemporaryFolder.copy(live, to: copy)
    let flushed = try RocksStore(path: copy)
    try flushed.close()
    #expect(try logs(in: copy).isEmpty)
    #expect(try RocksStore(path: copy).pairs() == store.pairs())
  }

  /// How a start answers a damaged log.
  private enum Verdict: Equatable {
    /// It was refused, and named the file.
    case refused
    /// It started, with this many commits: the first ones, each whole.
    case kept(Int)
  }

  private func start(_ path: String, damaged file: String) throws -> Verdict {
    let problem = StoreReview.problem(of: path)
    do {
      let found = try unflushed(path, .small).pairs()
      #expect(problem == nil)
      #expect(found.count % 3 == 0)
      let expected = (0..<found.count / 3).flatMap { round in (0..<3).map { Array("r\(round)-\($0)".utf8) } }
      #expect(Set(found.map(\.key)) == Set(expected))
      return .kept(found.count / 3)
    } catch let error as StoreError {
      #expect(error.code == .corrupt && error.message.contains(file) && error.message.contains("--salvage"))
      #expect(error.message.contains("is damaged at byte"))
      #expect(problem == error)
      return .refused
    }
  }

  @Test(arguments: UInt64(1)...30)
  func `damage in synced bytes is refused, wherever it is`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = try unflushed(live, .small)
    for round in 0..<20 {
      let set = WriteSet()
      for part in 0..<3 { set.put(Array("r\(round)-\(part)".utf8), random.value(most: 400)) }
      try store.commit(set, durable: true)
    }
    let path = folder.path + "/damaged"
    TemporaryFolder.copy(live, to: path)
    let file = try #require(try logs(in: path).last)
    let end = store.logBytes
    let offset = Int.random(in: 0..<end, using: &random)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: TemporaryFolder.flip(bit: Int.random(in: 0..<8, using: &random), at: offset, of: file)
    case 1: TemporaryFolder.zero(Int.random(in: 1...end - offset, using: &random), at: offset, of: file)
    default: truncate(file, off_t(offset))
    }
    #expect(try start(path, damaged: file) == .refused, "at byte \(offset)")
  }

  @Test(arguments: UInt64(1)...20)
  func `commits that were not synced end anywhere, whole, and the log continues behind them`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = try unflushed(live, .small)
    for round in 0..<20 {
      let set = WriteSet()
      for part in 0..<3 { set.put(Array("r\(round)-\(part)".utf8), random.value(most: 400)) }
      try store.commit(set, durable: false)
    }
    let path = folder.path + "/torn"
    TemporaryFolder.copy(live, to: path)
    let file = try #require(try logs(in: path).last)
    let offset = Int.random(in: LogFrame.fileHeader..<store.logBytes, using: &random)
    TemporaryFolder.zero(Int.random(in: 1...1 << 16, using: &random), at: offset, of: file)
    guard case .kept(let count) = try start(path, damaged: file) else {
      Issue.record("refused at byte \(offset)")
      return
    }
    #expect(count < 20)
    let again = try RocksStore(path: path, blockCacheBytes: 1 << 20, settings: .small)
    try again.put("rnext", "1", durable: true)
    try again.close()
    #expect(try unflushed(path, .small).pairs().count == count * 3 + 1)
  }

  @Test func `damage of a file's parts is refused: the header, the file, the manifest`() throws {
    let store = try unflushed(live, .small)
    for round in 0..<3 { try store.put("r\(round)", "1", durable: true) }
    func damaged(_ name: String, _ damage: (String) throws -> Void) throws -> StoreError? {
      let path = folder.path + "/" + name
      TemporaryFolder.copy(live, to: path)
      try damage(path)
      let names = TemporaryFolder.names(path)
      let problem = StoreReview.problem(of: path)
      #expect(TemporaryFolder.names(path) == names)
      let error = #expect(throws: StoreError.self) { try unflushed(path, .small) }
      #expect(problem == error)
      return error
    }
    let log = try #require(try logs(in: live).last?.split(separator: "/").last.map(String.init))
    for byte in stride(from: 0, to: LogFrame.fileHeader, by: 7) {
      let error = try damaged("header\(byte)") { TemporaryFolder.flip(bit: 3, at: byte, of: "\($0)/log/\(log)") }
      #expect(error?.message.contains("\(log) is damaged at byte 0: its header") == true)
    }
    let gone = try damaged("gone") { unlink("\($0)/log/\(log)") }
    #expect(gone?.message.contains("\(log) is damaged at byte 0: the file is gone") == true)
    let folderGone = try damaged("folder") { TemporaryFolder.remove("\($0)/log") }
    #expect(folderGone?.message.contains("\(log) is damaged at byte 0: the file is gone") == true)
    let manifest = try damaged("manifest") { unlink("\($0)/log.manifest") }
    #expect(manifest?.message.contains("log.manifest is damaged at byte 0: the file is gone") == true)
    let bit = try damaged("bit") { TemporaryFolder.flip(bit: 0, at: 20, of: "\($0)/log.manifest") }
    #expect(bit?.message.contains("log.manifest is damaged") == true)
    let current = try damaged("current") { unlink("\($0)/CURRENT") }
    #expect(current?.message.contains("CURRENT is gone") == true && current?.message.contains("--salvage") == false)
    var salvage = LogSalvage(path: folder.path + "/current", files: SystemFiles(), settings: .small)
    #expect(#expect(throws: StoreError.self) { try salvage.run(now: Timestamp(microseconds: 0)) } == current)
    unlink("\(live)/log.manifest")
    #expect(StoreReview.problem(of: live) == nil, "the store is open")
    for error in [gone, folderGone, manifest, bit] { #expect(error?.message.contains("--salvage") == true) }
  }

  @Test func `a MANIFEST of the database that is shorter than it was is refused`() throws {
    let store = try RocksStore(path: live)
    try store.put("ra", "1")
    try store.compact()
    let before = try manifest(of: live)
    try store.put("rb", "2")
    try store.close()
    truncate("\(live)/\(before.name)", off_t(before.length))
    let error = #expect(throws: StoreError.self) { try unflushed(live) }
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("its MANIFEST is shorter") == true, "\(error?.message ?? "")")
  }

  private func manifest(of store: String) throws -> (name: String, length: Int) {
    let name = try #require(try Folder.names(store).filter { $0.hasPrefix("MANIFEST-") }.max())
    return (name, try SystemFiles().open("\(store)/\(name)", .read).size())
  }

  @Test func `a store that crashed twice before its log was flushed keeps both logs`() throws {
    let store = try unflushed(live)
    try store.put("ra", "1", durable: true)
    let second = try crashed("second")
    try second.put("rb", "2", durable: true)
    TemporaryFolder.copy(second.path, to: folder.path + "/third")
    let third = try RocksStore(path: folder.path + "/third")
    #expect(try third.text("ra") == "1")
    #expect(try third.text("rb") == "2")
  }

  @Test(arguments: UInt64(1)...8)
  func `salvage keeps a copy, saves all whole commits, and names the subjects of the others`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = try unflushed(live, .small)
    var frames: [Range<Int>] = []
    for round in 0..<300 {
      let start = store.logBytes
      let set = WriteSet()
      set.put(StoreKey.bytes { StoreKey.record("user:\(round)", into: $0) }, random.value(most: 400))
      try store.commit(set, durable: true)
      if store.logBytes > start, try logs(in: live).count == 1 { frames.append(start..<store.logBytes) }
    }
    let path = folder.path + "/damaged"
    TemporaryFolder.copy(live, to: path)
    let files = try logs(in: path)
    let lost = Int.random(in: 0..<frames.count - 1, using: &random)
    TemporaryFolder.flip(bit: 1, at: try #require(frames[lost].last), of: files[0])
    #expect(throws: StoreError.self) { try unflushed(path, .small) }
    var salvage = LogSalvage(path: path, files: SystemFiles(), settings: .small)
    let report = try salvage.run(now: Timestamp(microseconds: 0))
    #expect(report.subjects == ["user:\(lost)"])
    #expect(
      report.damages.contains {
        $0.contains("\(files[0]): the \(frames[lost].count) bytes from \(frames[lost].lowerBound) on")
      })
    #expect(report.saved == 299)
    let copy = try #require(report.copy)
    #expect(try Folder.names(copy).filter { $0.hasSuffix(".log") }.count == files.count)
    let found = try unflushed(path, .small)
    #expect(
      try found.pairs(from: Array("r".utf8))
        == store.pairs(from: Array("r".utf8)).filter { !$0.key.elementsEqual("ruser:\(lost)\0".utf8) })
  }

  @Test func `there is nothing to salvage in a store that opens`() throws {
    let store = try RocksStore(path: live)
    try store.put("ra", "1")
    try store.close()
    var salvage = LogSalvage(path: live)
    let report = try salvage.run(now: Timestamp(microseconds: 0))
    #expect(report.copy == nil && report.damages.isEmpty)
    #expect(try RocksStore(path: live).text("ra") == "1")
  }

  @Test func `a log file that is gone from the middle is an error that names it`() throws {
    let store = try unflushed(live, .small)
    for round in 0..<3 {
      try store.put("r\(round)", String(repeating: "a", count: 40_000), durable: true)
    }
    let path = folder.path + "/middle"
    TemporaryFolder.copy(live, to: path)
    let files = try logs(in: path)
    #expect(files.count == 3)
    unlink(files[1])
    let error = #expect(throws: StoreError.self) { try unflushed(path) }
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("\(files[1]) is damaged at byte 0: the file is gone") == true)
  }

  @Test func `a commit that the disk refused does not come back after a crash or a reopening`() throws {
    let files = FailingFiles()
    let store = try unflushed(live, files: files)
    try store.put("ra", "1")
    let set = WriteSet()
    set.put(Array("rb".utf8), Array(repeating: 1, count: 3 << 20))
    files.withSizeLimit(2 << 20) {
      _ = #expect(throws: StoreError.self) { try store.commit(set, durable: true) }
    }
    #expect(try crashed("refused").pairs().count == 1)
    try store.reopen()
    try store.put("rc", "3")
    let found = try crashed("reopened")
    #expect(try found.text("ra") == "1")
    #expect(try found.text("rb") == nil)
    #expect(try found.text("rc") == "3")
  }

  @Test func `a log without room for a next segment is not open until there is room, and leaves no file behind`() throws
  {
    let files = FailingFiles()
    let store = try unflushed(live, LogSettings(segmentBytes: 1 << 16), files: files)
    try store.put("ra", String(repeating: "a", count: 40_000), durable: true)
    let before = try logs(in: live)
    try files.withSizeLimit(0) { () throws in
      for _ in 1...3 {
        #expect(throws: StoreError.self) { try store.put("rb", String(repeating: "b", count: 40_000)) }
        #expect(throws: StoreError.self) { try store.reopen() }
        #expect(store.state.failure != nil)
        let left = try logs(in: live)
        #expect(left == before)
      }
    }
    try store.reopen()
    try store.put("rb", String(repeating: "b", count: 40_000), durable: true)
    #expect(try crashed().text("rb")?.utf8.count == 40_000)
    #expect(try logs(in: live).count == before.count + 1)
  }

  @Test func `an append that fails leaves earlier appends alone`() throws {
    let files = FailingFiles()
    let store = try unflushed(live, files: files)
    func set(_ key: String, bytes: Int) -> WriteSet {
      let set = WriteSet()
      set.put(Array(key.utf8), Array(repeating: 1, count: bytes))
      return set
    }
    let first = try store.append(set("ra", bytes: 10))
    #expect(try store.text("ra") == nil)
    files.withSizeLimit(2 << 20) {
      _ = #expect(throws: StoreError.self) { try store.append(set("rb", bytes: 3 << 20)) }
    }
    #expect(throws: StoreError.self) { try store.append(set("rc", bytes: 10)) }
    #expect(try store.syncCommits() == first)
    #expect(try store.value(Array("ra".utf8))?.count == 10)
    #expect(#expect(throws: StoreError.self) { try store.syncCommits() }?.code == .poisoned)
    #expect(try crashed("refused").pairs().count == 1)
    try store.reopen()
    #expect(try store.append(set("rd", bytes: 10)) > first)
    try store.syncCommits()
    #expect(try crashed("reopened").pairs().map { String(decoding: $0.key, as: UTF8.self) } == ["ra", "rd"])
  }

  @Test func `a batch that is appended while others sync is committed by its own sync, and is there after a crash`()
    throws
  {
    let store = try unflushed(live)
    let writers = 2
    let rounds = 3_000
    let failures = Mutex<[String]>([])
    let left = Atomic<Int>(writers)
    var threads = try (0..<writers).map { writer in
      try Thread(name: "test") {
        defer { left.wrappingSubtract(1, ordering: .releasing) }
        let set = WriteSet()
        do {
          for round in 0..<rounds {
            set.removeAll()
            set.put(Array("r\(writer)-\(round)".utf8), [UInt8](repeating: UInt8(writer), count: round % 300))
            let number = try store.append(set)
            guard round % 1_000 == 0 else { continue }
            let committed = try store.syncCommits()
            let found = try store.value(Array("r\(writer)-\(round)".utf8))
            if committed < number || found?.count != round % 300 {
              failures.withLock { $0.append("\(writer)-\(round)") }
            }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
    }
    threads.append(
      try Thread(name: "test") {
        do { while left.load(ordering: .acquiring) > 0 { try store.syncCommits() } } catch {
          failures.withLock { $0.append("\(error)") }
        }
      })
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    try store.syncCommits()
    #expect(try store.pairs().count == writers * rounds)
    #expect(try crashed().pairs() == store.pairs())
  }

  @Test func `full segments are flushed into the database, and everything is found before, during and after`() throws {
    let store = try RocksStore(path: live)
    let value = [UInt8](repeating: 7, count: 1 << 20)
    for round in 0..<200 {
      let set = WriteSet()
      set.put(Array("r\(round % 50)".utf8), [UInt8(round)] + value)
      set.put(Array("T\(round)".utf8), [UInt8(round)])
      if round > 0 { set.delete(Array("T\(round - 1)".utf8)) }
      try store.commit(set, durable: false)
      #expect(try store.value(Array("r\(round % 50)".utf8))?.first == UInt8(round))
      if round > 60 { #expect(try store.value(Array("r\((round - 30) % 50)".utf8))?.first == UInt8(round - 30)) }
      #expect(try store.pairs(from: [0x54], to: [0x55]).map(\.value) == [[UInt8(round)]])
    }
    #expect(try store.pairs().count == 51)
    let before = try store.pairs(from: Array("r".utf8))
    try store.compact()
    #expect(try store.pairs(from: Array("r".utf8)) == before)
    try store.close()
    #expect(try RocksStore(path: live).pairs(from: Array("r".utf8)) == before)
  }

  @Test func `a busy log continues in a segment that zeros were written to ahead of time`() throws {
    let files = SystemFiles()
    let manifest = LogManifest(files, folder: folder.path, contents: .init())
    let log = try RedoLog(files, path: folder.path, folder: folder.path, manifest: manifest) { _ in }
    let records = [UInt8](repeating: 0, count: 1 << 20)
    /// Whether the commit is appended without waiting for another segment.
    func isAppended(_ count: Int) throws -> Bool {
      try records.withView { bytes throws in
        try log.appendFrame(bytes.extracting(..<count), isCommitted: true) != nil
      }
    }
    func fillUntilBusy() throws { for _ in 0..<4 { #expect(try isAppended(records.count)) } }
    func wantsZeros() -> Bool { if case .writeZeros = log.segments.nextWork(within: 0) { true } else { false } }

    try log.prepareNext()
    #expect(!wantsZeros())
    try fillUntilBusy()
    #expect(wantsZeros())
    log.writeZeros()
    #expect(!wantsZeros())
    #expect(try !isAppended(1))

    try log.makeRoom(for: 1)
    try log.prepareNext()
    try fillUntilBusy()
    #expect(wantsZeros())
    log.writeZeros()
    #expect(try isAppended(1), "the active segment is as good as the next")
  }

  @Test func `a subject's keys are found by its prefix among those of others, in the log and in the files`() throws {
    let store = try RocksStore(path: live)
    for half in 0..<2 {
      for subject in ["a", "ab", "b"] {
        let set = WriteSet()
        for name in ["x\(half)", "y\(half)"] {
          set.put(StoreKey.bytes { StoreKey.named(.once, subject, plugin: "p", name: name, into: $0) }, [1])
          set.put(
            StoreKey.bytes { StoreKey.outcome(expiring: 300, subject, source: "s", id: name, into: $0) }, [2])
        }
        try store.commit(set, durable: false)
      }
      if half == 0 { try store.compact() }
    }
    let once = StoreKey.prefix(.once, of: "ab")
    let outcomes = StoreKey.bytes { StoreKey.outcomePrefix(expiring: 300, "ab", into: $0) }
    for prefix in [once, outcomes] {
      let found = try store.pairs(from: prefix, to: StoreKey.upperBound(prefix))
      #expect(found.count == 4 && found.allSatisfy { $0.key.starts(with: prefix) })
    }
    let set = WriteSet()
    for pair in try store.pairs(from: once, to: StoreKey.upperBound(once)) { set.delete(pair.key) }
    try store.commit(set, durable: false)
    #expect(try store.pairs(from: once, to: StoreKey.upperBound(once)).isEmpty)
    #expect(try store.pairs(from: [0x6F], to: [0x70]).count == 8)
    let all = try store.pairs()
    try store.close()
    #expect(try RocksStore(path: live).pairs() == all)
  }
}
