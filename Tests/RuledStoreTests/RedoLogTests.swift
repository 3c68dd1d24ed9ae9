import Glibc
import RuledCore
import Synchronization
import TestSupport
import Testing

@testable import RuledStore

/// What the log of a store on disk gives back after a crash, which a copy of the running store's folder stands for.
@Suite(.serialized) struct RedoLogTests {
  private let folder = TemporaryFolder()

  private var live: String { folder.path + "/live" }

  /// The store as it is found when the process dies now.
  private func crashed(_ name: String = "crashed") throws -> RocksStore {
    TemporaryFolder.copy(live, to: folder.path + "/" + name)
    return try undrained(folder.path + "/" + name)
  }

  /// A store whose files nobody touches in the background, so that a copy is of one moment.
  private func undrained(_ path: String) throws -> RocksStore {
    try RocksStore(path: path, blockCacheBytes: 1 << 20, drains: false)
  }

  private func logs(in store: String) throws -> [String] {
    try Folder.names(store + "/log").filter { $0.hasSuffix(".log") }.sorted().map { "\(store)/log/\($0)" }
  }

  /// Records and remembered outcomes, of which the drain makes files apart.
  @Test(arguments: [1, 10, 700, 33_000, 100_000], ["ra", "d2107a"])
  func `what was committed is there after a crash`(size: Int, kind: String) throws {
    let store = try undrained(live)
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
    let copy = folder.path + "/drained"
    TemporaryFolder.copy(live, to: copy)
    let drained = try RocksStore(path: copy)
    try drained.close()
    #expect(try logs(in: copy).isEmpty)
    #expect(try RocksStore(path: copy).pairs() == store.pairs())
  }

  @Test(arguments: UInt64(1)...40)
  func `a log that ends anywhere gives back the commits before its end, whole`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = try undrained(live)
    for round in 0..<20 {
      let set = WriteSet()
      for part in 0..<3 { set.put(Array("r\(round)-\(part)".utf8), random.value(most: 400)) }
      try store.commit(set, durable: false)
    }
    let path = folder.path + "/torn"
    TemporaryFolder.copy(live, to: path)
    let file = try #require(try logs(in: path).last)
    let length = Int.random(in: 0...16_000, using: &random)
    let descriptor = open(file, O_RDWR)
    if Bool.random(using: &random) {
      #expect(ftruncate(descriptor, off_t(length)) == 0)
    } else {
      var wrong: UInt8 = 0
      pread(descriptor, &wrong, 1, off_t(length))
      wrong ^= 64
      pwrite(descriptor, &wrong, 1, off_t(length))
    }
    close(descriptor)
    let found = try RocksStore(path: path).pairs()
    #expect(found.count % 3 == 0)
    let kept = Set(found.map(\.key))
    let expected = (0..<found.count / 3).flatMap { round in (0..<3).map { Array("r\(round)-\($0)".utf8) } }
    #expect(kept == Set(expected))
    for pair in found { #expect(try store.value(pair.key) == pair.value) }
  }

  @Test func `a store that crashed twice before its log was drained keeps both logs`() throws {
    let store = try undrained(live)
    try store.put("ra", "1", durable: true)
    let second = try crashed("second")
    try second.put("rb", "2", durable: true)
    TemporaryFolder.copy(second.path, to: folder.path + "/third")
    let third = try RocksStore(path: folder.path + "/third")
    #expect(try third.text("ra") == "1")
    #expect(try third.text("rb") == "2")
  }

  @Test func `a damaged log that others build on is an error that names it`() throws {
    let path = folder.path + "/damaged"
    try Folder.create(path + "/log")
    for number in UInt64(1)...2 {
      let segment = try Segment(number: number)
      let file = try SegmentFile(creating: RedoLog.path(number, in: path + "/log"), capacity: 4096)
      let set = WriteSet()
      set.put(Array("ra".utf8), [UInt8(number)])
      _ = segment.stage(set.records)
      segment.recover(payload: set.records.count)
      try file.write(UnsafeRawBufferPointer(start: segment.base, count: segment.used), at: 0)
    }
    let error = #expect(throws: StoreError.self) { try RocksStore(path: path) }
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("0000000001.log is damaged at byte") == true)
  }

  @Test func `a commit that the disk refused does not come back after a crash or a reopening`() throws {
    let store = try undrained(live)
    try store.put("ra", "1")
    let set = WriteSet()
    set.put(Array("rb".utf8), Array(repeating: 1, count: 3 << 20))
    try FileSizeLimit.with(bytes: 2 << 20) {
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

  @Test func `an append that fails leaves alone what was appended before it`() throws {
    let store = try undrained(live)
    func set(_ key: String, bytes: Int) -> WriteSet {
      let set = WriteSet()
      set.put(Array(key.utf8), Array(repeating: 1, count: bytes))
      return set
    }
    let first = try store.append(set("ra", bytes: 10))
    #expect(try store.text("ra") == nil)
    try FileSizeLimit.with(bytes: 2 << 20) {
      _ = #expect(throws: StoreError.self) { try store.append(set("rb", bytes: 3 << 20)) }
    }
    #expect(throws: StoreError.self) { try store.append(set("rc", bytes: 10)) }
    #expect(try store.sync() == first)
    #expect(try store.value(Array("ra".utf8))?.count == 10)
    #expect(#expect(throws: StoreError.self) { try store.sync() }?.code == .poisoned)
    #expect(try crashed("refused").pairs().count == 1)
    try store.reopen()
    #expect(try store.append(set("rd", bytes: 10)) > first)
    try store.sync()
    #expect(try crashed("reopened").pairs().map { String(decoding: $0.key, as: UTF8.self) } == ["ra", "rd"])
  }

  @Test func `a range is removed with what was appended in it and does not count yet`() throws {
    let store = try undrained(live)
    let set = WriteSet()
    set.put(Array("ra1".utf8), [1])
    set.put(Array("rb1".utf8), [1])
    _ = try store.append(set)
    let removal = WriteSet()
    removal.deleteRange(from: Array("ra".utf8), to: Array("rb".utf8))
    _ = try store.append(removal)
    try store.sync()
    #expect(try store.pairs().map { String(decoding: $0.key, as: UTF8.self) } == ["rb1"])
    #expect(try crashed().pairs() == store.pairs())
  }

  @Test func `what is appended while others sync counts once it is synced itself, and is there after a crash`() throws {
    let store = try undrained(live)
    let writers = 2
    let rounds = 10_000
    let failures = Mutex<[String]>([])
    let left = Atomic<Int>(writers)
    var threads = try (0..<writers).map { writer in
      try DrainThread {
        defer { left.wrappingSubtract(1, ordering: .releasing) }
        let set = WriteSet()
        do {
          for round in 0..<rounds {
            set.removeAll()
            set.put(Array("r\(writer)-\(round)".utf8), [UInt8](repeating: UInt8(writer), count: round % 300))
            let number = try store.append(set)
            guard round % 1_000 == 0 else { continue }
            let counting = try store.sync()
            let found = try store.value(Array("r\(writer)-\(round)".utf8))
            if counting < number || found?.count != round % 300 {
              failures.withLock { $0.append("\(writer)-\(round)") }
            }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
    }
    threads.append(
      try DrainThread {
        do { while left.load(ordering: .acquiring) > 0 { try store.sync() } } catch {
          failures.withLock { $0.append("\(error)") }
        }
      })
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    try store.sync()
    #expect(try store.pairs().count == writers * rounds)
    #expect(try crashed().pairs() == store.pairs())
  }

  @Test func `full segments are drained into the database, and everything is found before, during and after`() throws {
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

  @Test func `a busy log goes over to a segment that was written to ahead of time`() throws {
    let log = try RedoLog(folder: folder.path)
    defer { log.removeActive() }
    let records = [UInt8](repeating: 0, count: 1 << 20)
    func fillUntilBusy() throws {
      for _ in 0..<4 {
        #expect(log.hasRoom(for: records.count))
        try records.withUnsafeBytes { bytes throws in try log.append(bytes) }
      }
    }
    func isToBeWrittenAhead() -> Bool { if case .writeAhead = log.nextWork(within: 0) { true } else { false } }

    try log.prepare()
    #expect(!isToBeWrittenAhead())
    try fillUntilBusy()
    #expect(isToBeWrittenAhead())
    log.writeAhead()
    #expect(!isToBeWrittenAhead())
    #expect(!log.hasRoom(for: 1))

    try log.rotate()
    #expect(log.hasRoom(for: records.count))
    try log.prepare()
    try fillUntilBusy()
    #expect(isToBeWrittenAhead())
    log.writeAhead()
    #expect(log.hasRoom(for: records.count), "the active segment is as good as the next")
  }

  @Test func `a subject's keys are found by its prefix among those of others, in the log and in the files`() throws {
    let store = try RocksStore(path: live)
    for half in 0..<2 {
      for subject in ["a", "ab", "b"] {
        let set = WriteSet()
        for name in ["x\(half)", "y\(half)"] {
          set.put(StoreKey.bytes { StoreKey.once(subject, plugin: "p", key: name, into: $0) }, [1])
          set.put(
            StoreKey.bytes { StoreKey.outcome(expiring: 300, subject, source: "s", id: name, into: $0) }, [2])
        }
        try store.commit(set, durable: false)
      }
      if half == 0 { try store.compact() }
    }
    let once = StoreKey.bytes { StoreKey.subjectPrefix(.once, "ab", into: $0) }
    let outcomes = StoreKey.bytes { StoreKey.outcomePrefix(expiring: 300, "ab", into: $0) }
    for prefix in [once, outcomes] {
      let found = try store.pairs(from: prefix, to: StoreKey.upperBound(prefix))
      #expect(found.count == 4 && found.allSatisfy { $0.key.starts(with: prefix) })
    }
    let set = WriteSet()
    set.deleteRange(from: once, to: try #require(StoreKey.upperBound(once)))
    try store.commit(set, durable: false)
    #expect(try store.pairs(from: once, to: StoreKey.upperBound(once)).isEmpty)
    #expect(try store.pairs(from: [0x6F], to: [0x70]).count == 8)
    let all = try store.pairs()
    try store.close()
    #expect(try RocksStore(path: live).pairs() == all)
  }
}
