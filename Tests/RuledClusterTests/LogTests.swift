import RuledCore
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

extension Cluster {
  /// The log of commits in a database that is well.
  @Suite struct LogTests {
    @Test func `batches are read back in the order of their appends, each after the one before`() throws {
      let settings = try Cluster.settings()
      let writer = try Cluster.owner(settings)
      let texts = (0..<25).map { "\($0)" }
      try Cluster.append(texts, by: writer)
      #expect(try Cluster.texts(settings) == texts)
      #expect(writer.end?.sequence == 25)
    }

    @Test func `nodes that start together make the tables once`() throws {
      let settings = try Cluster.settings()
      let ids = Mutex<[String]>([])
      let threads = try (0..<4).map { _ in
        try Thread(name: "start") {
          let client = LogClient(settings)
          _ = eventually { (try? client.readHead()) != nil }
          ids.withLock { $0.append(client.cluster?.id ?? "none") }
        }
      }
      for thread in threads { thread.join() }
      let found = ids.withLock { $0 }
      #expect(found.count == 4)
      #expect(Set(found).count == 1 && !found.contains("none"))
    }

    @Test func `tables of a later version are refused`() throws {
      let settings = try Cluster.settings()
      _ = try LogClient(settings).readHead()
      try PostgresConnection(settings.url, seconds: 5).run(
        script: "UPDATE ruled.cluster SET format = format + 1", milliseconds: 5000)
      #expect(Cluster.code { _ = try LogClient(settings).readHead() } == .refused)
    }

    @Test func `a stale owner is fenced, and nothing of it is in the log`() throws {
      let settings = try Cluster.settings()
      let first = try Cluster.owner(settings, "a")
      try Cluster.append(["1", "2"], by: first)
      let second = try Cluster.owner(settings, "b")
      #expect(Cluster.code { try Cluster.append(["stale"], by: first) } == .fenced)
      try Cluster.append(["3"], by: second)
      #expect(Cluster.code { try Cluster.append(["stale"], by: first) } == .fenced)
      #expect(try Cluster.texts(settings) == ["1", "2", "3"])
    }

    @Test func `one of two that take over at the same moment owns the log`() throws {
      let settings = try Cluster.settings()
      let head = try LogClient(settings).readHead()
      let (first, second) = (LogWriter(settings, node: Cluster.node("a")), LogWriter(settings, node: Cluster.node("b")))
      #expect(try first.takeOver(from: head))
      #expect(try !second.takeOver(from: head))
      #expect(Cluster.code { try Cluster.append(["x"], by: second) } == .fenced)
    }

    @Test func `owners that fence each other all the time write one log`() throws {
      let settings = try Cluster.settings()
      _ = try LogClient(settings).readHead()
      let acknowledged = Mutex<[String]>([])
      let threads = try ["a", "b", "c"].map { name in
        try Thread(name: "owner") {
          let client = LogClient(settings)
          let writer = LogWriter(settings, node: Cluster.node(name))
          for number in 0..<60 {
            if writer.end == nil { _ = try? writer.takeOver(from: client.readHead()) }
            let text = "\(name)\(number)"
            if (try? writer.append(Cluster.batch(text))) != nil { acknowledged.withLock { $0.append(text) } }
          }
        }
      }
      for thread in threads { thread.join() }
      let texts = try Cluster.texts(settings)
      let kept = acknowledged.withLock { $0 }
      #expect(!kept.isEmpty)
      #expect(texts.sorted() == kept.sorted())
      for name in ["a", "b", "c"] {
        let numbers = texts.filter { $0.hasPrefix(name) }.compactMap { Int($0.dropFirst()) }
        #expect(numbers == numbers.sorted())
      }
    }

    @Test func `a batch that was changed in the database is noticed`() throws {
      let settings = try Cluster.settings()
      try Cluster.append(["1", "2", "3"], by: try Cluster.owner(settings))
      try PostgresConnection(settings.url, seconds: 5).run(
        script: "UPDATE ruled.commits SET batch = batch || '\\x00' WHERE sequence = 2", milliseconds: 5000)
      #expect(Cluster.code { _ = try Cluster.texts(settings) } == .diverged)
    }

    @Test func `old partitions are dropped, and a reader that needs them is told`() throws {
      var settings = try Cluster.settings()
      settings.partitionSize = 10
      let writer = try Cluster.owner(settings)
      try Cluster.append((0..<35).map { "\($0)" }, by: writer)
      #expect(try Cluster.texts(settings).count == 35)
      #expect(try LogClient(settings).dropPartitions(before: 25) == 2)
      #expect(Cluster.code { _ = try Cluster.texts(settings) } == .behind)
      try Cluster.append(["more"], by: writer)
      #expect(try LogClient(settings).readHead().position.sequence == 36)
    }

    @Test func `a lease ends by the clock of the database, or when it is given back`() throws {
      var settings = try Cluster.settings()
      settings.lease = 5_000
      let node = Cluster.node("a")
      let client = LogClient(settings)
      let writer = LogWriter(settings, node: node)
      #expect(try client.renewLease(of: node, at: 0) == false)
      #expect(try writer.takeOver(from: client.readHead()))
      #expect(try eventually { try client.readHead().isLeaseOver })
      settings.lease = 3_600_000
      let longer = LogClient(settings)
      #expect(try longer.renewLease(of: node, at: 0) == false)
      #expect(try !longer.readHead().isLeaseOver)
      let other = Cluster.node("a")
      #expect(try longer.renewLease(of: other, at: 0) == nil)
      try longer.releaseLease(of: node)
      #expect(try longer.readHead().isLeaseOver)
      #expect(try longer.renewLease(of: other, at: 0) == false)
    }
  }
}

@Suite struct LogBatchTests {
  @Test func `commits come out of a batch as they went in`() throws {
    let batch = LogBatch()
    let (first, second) = (Cluster.writes("one"), Cluster.writes("two"))
    Array("gone".utf8).withView { second.delete($0) }
    [UInt8](repeating: 1, count: 300).withView { head in [9].withView { first.journal(head, $0) } }
    for writes in [first, second] { batch.append(writes) }
    var found: [[UInt8]] = []
    try LogBatch.forEachCommit(in: batch.bytes) { found.append(Array($0.records)) }
    #expect(found == [Array(first.records), Array(second.records)])
    withExtendedLifetime(batch) {}
  }

  @Test func `bytes that are no batch are refused, whatever is cut off`() {
    let batch = LogBatch()
    for text in ["one", "two"] { batch.append(Cluster.writes(text)) }
    let bytes = Array(batch.bytes)
    withExtendedLifetime(batch) {}
    let boundaries = [1, 1 + 4 + Cluster.writes("one").byteCount, bytes.count]
    for end in 0...bytes.count {
      let code = Array(bytes[..<end]).withView { part in Cluster.code { try LogBatch.forEachCommit(in: part) { _ in } }
      }
      #expect(code == (end == 0 ? .newerFormat : boundaries.contains(end) ? nil : .corrupt))
    }
    let later = [2] + bytes.dropFirst()
    #expect(later.withView { bytes in Cluster.code { try LogBatch.forEachCommit(in: bytes) { _ in } } } == .newerFormat)
  }
}
