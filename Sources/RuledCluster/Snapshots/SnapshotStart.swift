import Glibc
import RuledCore
package import RuledStore

/// Starts a node's store from a snapshot if the store is empty, or if the log does not go on where it ends.
///
/// Until a whole snapshot is copied, opened and checked, the store stays as it was.
package struct SnapshotStart {
  package enum Need: Sendable {
    /// It is empty, and a snapshot saves time.
    case empty
    /// The log was cut, and no longer has the next batch.
    case behind
    /// It has played back batches that the log does not have: a failover lost them, or the database was restored to an earlier moment.
    case diverged
  }

  private let settings: ClusterSettings
  private let snapshots: SnapshotSettings?
  private let identity: NodeIdentity
  private let client: LogClient
  private let report: (_ message: String, _ isProblem: Bool) -> Void
  private let isInterrupted: () -> Bool

  /// How often progress is reported, in milliseconds.
  private static let reportInterval = 5_000
  /// The delay between attempts to get a lease, in milliseconds.
  private static let retryInterval = 200

  /// A start of the node `identity`; `report` is called with messages for the log.
  package init(
    _ settings: ClusterSettings, snapshots: SnapshotSettings?, identity: NodeIdentity,
    isInterrupted: @escaping () -> Bool, report: @escaping (_ message: String, _ isProblem: Bool) -> Void
  ) {
    self.settings = settings
    self.snapshots = snapshots
    self.identity = identity
    self.isInterrupted = isInterrupted
    self.report = report
    client = LogClient(settings)
  }

  /// Why a store has to start anew; nil if it can play the log back, or if the database can't be reached.
  package func need(of store: RocksStore) throws(StoreError) -> Need? {
    let played = try PlayedStore(store)
    do throws(StoreError) {
      _ = try client.connection()
      if let cluster = client.cluster { try played.join(cluster.id) }
      if played.position == .start, snapshots != nil, try !client.snapshots().isEmpty { return .empty }
      guard try client.contradicts(played.position) else {
        return try client.continues(after: played.position) ? nil : .behind
      }
      report(
        "the log does not have what this node has played back, \(played.position.sequence) batches: a failover lost commits, or the database "
          + "was restored to an earlier moment; the node drops its store and its journal, and takes what the log has",
        true)
      return .diverged
    } catch {
      guard error.code == .unreachable else { throw error }
      return nil
    }
  }

  /// Replaces the closed store in the folder `path` with the latest undamaged snapshot.
  ///
  /// If there is none, an empty store plays back the whole log; if that was cut, this throws the remedy. Throws `interrupted` if
  /// `isInterrupted` returns true. The folder `journal` goes with the store: it may have events that the log does not have, and it does not know
  /// which subjects were forgotten in the commits between it and the snapshot.
  package func run(_ need: Need, path: String, journal: String) throws(StoreError) {
    _ = try client.connection()
    guard let cluster = client.cluster else { return }
    var hint = "set cluster.snapshots to the place of the others' snapshots"
    if let storage = try snapshots?.storage(of: cluster.id) {
      var last: StoreError?
      guard try !start(from: storage, path: path, removing: journal, &last) else { return }
      hint =
        last.map { "no snapshot can be used, the last one as \($0)" }
        ?? "there is no snapshot: begin with a copy of another node's folder, taken while that one does not run"
    }
    guard need != .behind, try client.continues(after: .start) else { throw Self.behind(hint) }
    if need == .diverged { try StoreReplacement(of: path).commit(removing: [journal]) }
    report("the node starts from the beginning of the log, as no snapshot can be used", true)
  }

  /// Replaces the store with the latest snapshot that can be used; false if there is none, with the error of the last one.
  private func start(
    from storage: any SnapshotStorage, path: String, removing journal: String, _ last: inout StoreError?
  ) throws(StoreError) -> Bool {
    var isStarted = false
    defer { if !isStarted { try? client.releaseLease(of: identity) } }
    var tried: Set<String> = []
    while let snapshot = try client.snapshots().first(where: { !tried.contains($0.name) }) {
      tried.insert(snapshot.name)
      try lease(at: snapshot.position)
      // A lease at this position keeps the snapshot and the log after it, if both are still there now.
      guard try client.snapshots().contains(snapshot), try client.continues(after: snapshot.position) else { continue }
      do throws(StoreError) {
        try copy(snapshot, from: storage, to: path, removing: journal)
        isStarted = true
        return true
      } catch {
        guard error.code != .interrupted, error.code != .inUse else { throw error }
        report("the node can't start from the snapshot \(snapshot.name): \(error)", true)
        last = error
      }
    }
    return false
  }

  private static func behind(_ hint: String) -> StoreError {
    StoreError(.behind, "the log was cut, and no longer has what this node's store needs: \(hint)")
  }

  private func copy(
    _ snapshot: Snapshot, from storage: any SnapshotStorage, to path: String, removing journal: String
  ) throws(StoreError) {
    report(
      "the node starts from the snapshot \(snapshot.name) of node \(snapshot.node): sequence \(snapshot.position.sequence), "
        + "\(snapshot.bytes) bytes", false)
    let replacement = try StoreReplacement(of: path)
    var (done, reportAt, renewAt) = (0, MonotonicClock.milliseconds + Self.reportInterval, 0)
    do throws(StoreError) {
      try storage.copy(snapshot, to: replacement.folder) { (bytes) throws(StoreError) in
        done += bytes
        if isInterrupted() { throw Self.interrupted }
        let now = MonotonicClock.milliseconds
        if now >= reportAt {
          reportAt = now + Self.reportInterval
          report("\(done) of \(snapshot.bytes) bytes of the snapshot are copied", false)
        }
        if now >= renewAt {
          renewAt = now + settings.lease / 3
          // If the lease ends, the log may be cut. Then the node notices, and starts from a later snapshot.
          _ = try? client.renewLease(of: identity, at: snapshot.position.sequence)
        }
      }
      _ = try? client.renewLease(of: identity, at: snapshot.position.sequence)
    } catch {
      replacement.discard()
      throw error
    }
    try replacement.commit(removing: [journal])
    report("the node has the snapshot \(snapshot.name), and plays back what the log has behind it", false)
  }

  /// Gets a lease at the position of a snapshot, so that neither the snapshot nor the log after it is removed.
  ///
  /// Waits while an earlier process of the node has a lease.
  private func lease(at position: LogPosition) throws(StoreError) {
    let end = MonotonicClock.milliseconds + 2 * settings.lease
    while try client.renewLease(of: identity, at: position.sequence) == nil {
      if isInterrupted() { throw Self.interrupted }
      guard MonotonicClock.milliseconds < end else { throw ClusterNode.nameInUse(identity.name) }
      usleep(UInt32(Self.retryInterval) * 1000)
    }
  }

  private static let interrupted = StoreError(.interrupted, "the node was asked to end before it had a snapshot")
}
