import RuledCore
package import RuledStore
import RuledThreads

/// Writes snapshots of a node's store when they are due, and drops the log's batches before the second last one.
///
/// One node of the cluster at a time does so, a follower if there is one.
package final class SnapshotKeeper: @unchecked Sendable {  // `lock` guards what more than one thread uses
  /// The most batches that a node may lack when it writes a snapshot.
  private static let mostBehind: Int64 = 4096
  /// The longest time between two checks whether a snapshot is due, and between two attempts after a failure, in milliseconds.
  private static let (longestPause, longestRetry) = (10_000, 60_000)

  private let settings: SnapshotSettings
  private let node: ClusterNode
  private let client: LogClient
  private let complete: @Sendable (_ folder: String, _ last: UInt64) -> Void
  private let report: @Sendable (_ message: String, _ isProblem: Bool) -> Void
  private let lock = Condition()
  private var isStopping = false
  private var failure: StoreError?
  /// When the latest snapshot was written, and since when one has been due, in milliseconds of the monotonic clock.
  private var (latestTime, dueSince): (Int?, Int?)
  // Of the keeper's thread alone, in milliseconds of the monotonic clock.
  private var retryAt = 0
  private var renewAt = 0

  /// A keeper for `node`; `complete` may add files to the folder of a copy, whose last change has the sequence `last`, and `report` is called with
  /// messages for the log.
  package init(
    _ settings: SnapshotSettings, node: ClusterNode,
    complete: @escaping @Sendable (_ folder: String, _ last: UInt64) -> Void = { _, _ in },
    report: @escaping @Sendable (_ message: String, _ isProblem: Bool) -> Void
  ) {
    self.settings = settings
    self.node = node
    self.complete = complete
    self.report = report
    client = LogClient(node.settings)
  }

  /// The node's knowledge of the snapshots, as of its last question to the database.
  package var figures: SnapshotFigures {
    let now = MonotonicClock.milliseconds
    return lock.locked {
      SnapshotFigures(
        problem: failure, age: latestTime.map { max(0, now - $0) }, dueTime: dueSince.map { max(0, now - $0) } ?? 0)
    }
  }

  /// Ends `run`, even in the middle of a snapshot.
  package func stop() { lock.signal { isStopping = true } }

  /// Writes snapshots until `stop`.
  package func run() {
    let pause = max(100, min(Self.longestPause, Int(settings.every / 20_000)))
    while !lock.locked({ isStopping }) {
      if MonotonicClock.milliseconds >= retryAt { attempt() }
      let _: Void? = lock.wait(milliseconds: pause) { isStopping ? () : nil }
    }
    client.disconnect()
  }

  private func attempt() {
    do throws(StoreError) {
      if let last = try lastSequenceIfDue() { try makeSnapshot(after: last) }
      lock.locked { failure = nil }
    } catch {
      guard error.code != .interrupted, error.code != .closed else { return }
      retryAt = MonotonicClock.milliseconds + min(Self.longestRetry, Int(settings.every / 1000))
      let isNew = lock.locked {
        defer { failure = error }
        return failure != error
      }
      if isNew { report("there is no new snapshot of the cluster: \(error)", true) }
    }
  }

  /// The sequence of the last snapshot, -1 without one, if this node has to write a snapshot now; nil if not.
  ///
  /// The owner does so only if there is no other live node, or if none did within half the interval between snapshots.
  private func lastSequenceIfDue() throws(StoreError) -> Int64? {
    let need = try client.snapshotNeed(for: node.identity)
    let now = MonotonicClock.milliseconds
    let isDue = (need.age.map { $0 >= settings.every } ?? true) && need.end > max(0, need.last)
    let since = lock.locked {
      latestTime = need.age.map { now - Int($0 / 1000) }
      dueSince = isDue ? dueSince ?? now : nil
      return dueSince
    }
    let position = node.position.sequence
    guard let since, position > max(0, need.last), position + Self.mostBehind >= need.end else { return nil }
    let isOwner = node.figures.owner?.incarnation == node.identity.incarnation
    guard !isOwner || need.others == 0 || now - since >= Int(settings.every / 2000) else { return nil }
    return need.last
  }

  /// Writes a snapshot unless another node does, or has done so since the one with the sequence `last`; removes unneeded ones.
  func makeSnapshot(after last: Int64? = nil) throws(StoreError) {
    guard try client.takeSnapshotTurn(for: node.identity, milliseconds: SnapshotSettings.turn) else { return }
    defer { try? client.endSnapshotTurn(of: node.identity) }
    renewAt = MonotonicClock.milliseconds + SnapshotSettings.turn / 3
    guard let cluster = client.cluster else { return }
    let storage = try settings.storage(of: cluster.id)
    let progress = { (_: Int) throws(StoreError) in try self.keepTurn() }
    let listed = try client.snapshots()
    if let last, (listed.first?.position.sequence ?? -1) != last { return }
    try storage.clean(listed: listed, progress: progress)
    let snapshot: Snapshot
    do throws(StoreError) {
      snapshot = try storage.write(node.played, by: node.identity.name, complete: complete, progress: progress)
      guard try client.add(snapshot, for: node.identity) else { throw Self.turnLost }
    } catch {
      try? removeUnfinished(from: storage)
      throw error
    }
    report(
      "snapshot \(snapshot.name) of the cluster was written and read back: sequence \(snapshot.position.sequence), \(snapshot.bytes) bytes",
      false)
    try client.forgetSnapshots(keeping: SnapshotSettings.kept)
    try storage.clean(listed: try client.snapshots(), progress: progress)
    var count = 0
    do throws(StoreError) { count = try client.cut() } catch {
      // A reader holds a lock on the table. The next snapshot tries again.
      guard error.underlying.hasPrefix(LogClient.lockNotAvailable) else { throw error }
    }
    if count > 0 { report("the log of commits was cut: \(count) of its partitions were dropped", false) }
  }

  /// Removes the files of a failed attempt, if this node still has the turn; a node that ends waits a second at most for the storage.
  private func removeUnfinished(from storage: any SnapshotStorage) throws(StoreError) {
    guard try client.takeSnapshotTurn(for: node.identity, milliseconds: SnapshotSettings.turn) else { return }
    let end = MonotonicClock.milliseconds + SnapshotSettings.longestEnd
    try storage.clean(listed: try client.snapshots()) { (_) throws(StoreError) in
      if lock.locked({ isStopping }), MonotonicClock.milliseconds >= end { throw Self.ending }
      if !lock.locked({ isStopping }) { try keepTurn() }
    }
  }

  /// Extends the turn while a snapshot is written; throws if the turn is lost, or `stop` was called.
  private func keepTurn() throws(StoreError) {
    if lock.locked({ isStopping }) { throw Self.ending }
    guard MonotonicClock.milliseconds >= renewAt else { return }
    renewAt = MonotonicClock.milliseconds + SnapshotSettings.turn / 3
    guard try client.takeSnapshotTurn(for: node.identity, milliseconds: SnapshotSettings.turn) else {
      throw Self.turnLost
    }
  }

  private static let ending = StoreError(.interrupted, "the node ends")
  private static let turnLost = StoreError(
    .interrupted, "another node writes the snapshot: this one did not finish it in time")
}

package struct SnapshotFigures: Sendable {
  /// Why a due snapshot could not be written, or the log not be cut; nil if both succeeded.
  package var problem: StoreError?
  /// The age of the latest snapshot, in milliseconds; nil without one, or if the database was not asked yet.
  package var age: Int?
  /// For how long a snapshot has been due, in milliseconds; 0 while none is.
  package var dueTime: Int
}
