import RuledCore
import RuledStore
import Synchronization
import TestSupport
import Testing

@testable import RuledCluster

/// A node's own store, into which the log is played back.
@Suite struct PlayedStoreTests {
  /// The commits of a batch, and where the stack was when each was observed.
  private struct Seen {
    var commits: [[UInt8]] = []
    var stacks: Set<Int> = []
  }

  private static func batch(_ texts: [String]) -> LogBatch {
    let batch = LogBatch()
    for text in texts { batch.append(Cluster.writes(text)) }
    return batch
  }

  @Test func `each commit is observed by itself, however often, after all of its batch is in the store`() throws {
    let folder = TemporaryFolder()
    let store = try RocksStore(path: folder("store"))
    let played = try PlayedStore(store)
    let seen = Mutex(Seen())
    played.observe { writes in
      var local = 0
      let stack = withUnsafePointer(to: &local) { Int(bitPattern: $0) }
      seen.withLock { seen in
        seen.commits.append(Array(writes.records))
        seen.stacks.insert(stack)
      }
      let isStored = Array("klast".utf8).withView { try? store.get($0, into: ByteBuffer()) }
      #expect(isStored == true)
    }
    var position = LogPosition.start
    for _ in 0..<50 {
      let batch = Self.batch(["first", "middle", "last"])
      position = position.following(batch.bytes, epoch: 1)
      try played.apply(batch.bytes, to: position)
      withExtendedLifetime(batch) {}
    }
    #expect(played.position == position)
    let sets = ["first", "middle", "last"].map { Cluster.writes($0) }
    let one = sets.map { Array($0.records) }
    withExtendedLifetime(sets) {}
    seen.withLock { seen in
      #expect(seen.commits == Array((0..<50).map { _ in one }.joined()))
      #expect(seen.stacks.count == 1, "each call is as deep as the one before")
    }
    played.observe(nil)
    let more = Self.batch(["more"])
    try played.apply(more.bytes, to: position.following(more.bytes, epoch: 1))
    withExtendedLifetime(more) {}
    #expect(seen.withLock { $0.commits.count } == 150)
    try store.close()
  }

  @Test func `a batch of several MiB is played back whole`() throws {
    let folder = TemporaryFolder()
    let store = try RocksStore(path: folder("store"))
    let played = try PlayedStore(store)
    try played.join("cluster")
    let texts = (0..<60).map { "\($0)" + String(repeating: "x", count: 100_000) }
    let batch = Self.batch(texts)
    try played.apply(batch.bytes, to: LogPosition.start.following(batch.bytes, epoch: 1))
    withExtendedLifetime(batch) {}
    var found = 0
    try store.scanCommitted { _, value in
      if value.count > 100_000 { found += 1 }
      return true
    }
    #expect(found == texts.count)
    try store.close()
    let again = try PlayedStore(RocksStore(path: folder("store")))
    #expect(again.position.sequence == 1)
    try again.store.close()
  }
}
