import RuledCore
package import RuledStore

/// Copies the store of a single daemon into the log of a cluster, before the cluster's first node starts.
package struct StoreImport {
  package struct Report: Sendable {
    /// The number of keys.
    package var entries = 0
    /// The bytes of their keys and values.
    package var bytes = 0
  }

  private static let batchBytes = 512 << 10
  /// How often progress is reported, in milliseconds.
  private static let reportInterval = 5_000

  private let settings: ClusterSettings
  private let node: NodeIdentity

  package init(_ settings: ClusterSettings, node: NodeIdentity) {
    self.settings = settings
    self.node = node
  }

  /// Copies all of `store`, in one transaction: after an error the log is as empty as before, unless the outcome is unknown.
  ///
  /// Throws `refused` if the store is a node's, or if the log has a batch or an owner.
  package func run(from store: RocksStore, progress: (Report) -> Void) throws(StoreError) -> Report {
    guard try !PlayedStore.hasPosition(store) else {
      throw StoreError(
        .refused, "the store at \(store.path) is that of a cluster's node: what it has is in that cluster's log")
    }
    var report = Report()
    try LogClient.fillEmptyLog(settings, for: node) { (append) throws(StoreError) in
      let writes = WriteSet(capacity: Self.batchBytes)
      func send() throws(StoreError) {
        let batch = LogBatch()
        batch.append(writes)
        try append(batch)
        writes.removeAll()
      }
      var failure: StoreError?
      var reported = MonotonicClock.milliseconds
      try store.scanCommitted { key, value in
        writes.put(key, value)
        report.entries += 1
        report.bytes += key.count + value.count
        guard writes.byteCount >= Self.batchBytes else { return true }
        do throws(StoreError) { try send() } catch { failure = error }
        if MonotonicClock.milliseconds - reported >= Self.reportInterval {
          reported = MonotonicClock.milliseconds
          progress(report)
        }
        return failure == nil
      }
      if let failure { throw failure }
      if !writes.isEmpty { try send() }
    }
    return report
  }
}

extension LogClient {
  /// Appends the batches that `body` gives to a log without any, in one transaction: all of them or none.
  ///
  /// Throws `refused` if the log has a batch or an owner. After an error that says that the outcome is unknown the log may have all of them.
  static func fillEmptyLog(
    _ settings: ClusterSettings, for node: NodeIdentity,
    _ body: (_ append: (LogBatch) throws(StoreError) -> Void) throws(StoreError) -> Void
  ) throws(StoreError) {
    let client = LogClient(settings)
    // To close the connection rolls the transaction back.
    defer { client.disconnect() }
    try client.run("BEGIN")
    let head = try client.readHead()
    guard head.position == .start, head.owner == nil, var ownership = try client.takeOver(for: node, from: head) else {
      throw StoreError(
        .refused,
        "the log of the cluster is not empty: it can be filled before its first node has owned it; to begin again, end the nodes, drop the "
          + "schema 'ruled' of the database, and remove the nodes' stores")
    }
    try body { (batch) throws(StoreError) in
      let next = ownership.end.following(batch.bytes, epoch: ownership.epoch)
      let isAppended = try client.append(batch.bytes, from: ownership, to: next, milliseconds: settings.commitTimeout)
      precondition(isAppended, "the transaction holds the row of the log")
      ownership.end = next
    }
    do throws(StoreError) { try client.run("COMMIT") } catch { throw LogWriter.unknown(error) }
  }
}
