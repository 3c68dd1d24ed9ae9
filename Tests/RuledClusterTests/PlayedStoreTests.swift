import RuledCore
import RuledStore
import TestSupport
import Testing

@testable import RuledCluster

/// A node's own store, into which the log is played back.
@Suite struct PlayedStoreTests {
  private static func batch(_ texts: [String]) -> LogBatch {
    let batch = LogBatch()
    for text in texts { batch.append(Cluster.writes(text)) }
    return batch
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
