import Glibc
import RuledCore
package import RuledStore

/// Starts a node's store from a snapshot, if it is empty, or the log was cut behind what it has.
///
/// Until all of a snapshot was copied, opened and checked, the store stays as it was.
package struct SnapshotStart {
  /// Why a store starts from a snapshot.
  package enum Need: Sendable {
    /// It has played nothing back yet, so that a snapshot saves time.
    case empty
    /// The log no longer has what comes next.
    case behind
  }

  private let settings: ClusterSettings
  private let snapshots: SnapshotSettings?
  private let identity: NodeIdentity
  private let client: LogClient
  private let report: (_ message: String, _ isProblem: Bool) -> Void
  private let isInterrupted: () -> Bool

  /// How often the progress is reported, in milliseconds.
  private static let reportInterval = 5_000
  /// How often a lease is asked for, in milliseconds.
  private static let retryInterval = 200

  /// A start of the node `identity`; `report` gets what is to be logged.
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

  /// Whether a store is to be started from a snapshot; nil if it goes on with the log, or the database can't be asked.
  package func need(of store: RocksStore) throws(StoreError) -> Need? {
    let played = try PlayedStore(store)
    do throws(StoreError) {
      _ = try client.connection()
      if let cluster = client.cluster { try played.join(cluster.id) }
      if played.position == .start, snapshots != nil, try !client.snapshots().isEmpty { return .empty }
      return try client.continues(after: played.position) ? nil : .behind
    } catch {
      guard error.code == .unreachable else { throw error }
      return nil
    }
  }

  /// Replaces the store in the folder `path`, which is closed, by the latest snapshot that is as it was written.
  ///
  /// Without one, an empty store stays, as the log has all of it, and for one that is behind this throws what to do. Throws `interrupted` if
  /// that was asked for.
  package func run(_ need: Need, path: String) throws(StoreError) {
    guard let snapshots else { throw Self.behind("set cluster.snapshots to the folder that has the others' snapshots") }
    _ = try client.connection()
    guard let cluster = client.cluster else { return }
    let folder = SnapshotFolder(root: snapshots.folder, cluster: cluster.id)
    var tried: Set<String> = []
    var last: StoreError?
    do throws(StoreError) {
      while let snapshot = try client.snapshots().first(where: { !tried.contains($0.name) }) {
        tried.insert(snapshot.name)
        try lease(at: snapshot.position)
        // Since the lease has the place, the log stays behind it, and the snapshot stays if it still is there.
        guard try client.snapshots().contains(snapshot), try client.continues(after: snapshot.position) else {
          continue
        }
        do throws(StoreError) {
          try copy(snapshot, from: folder, to: path)
          return
        } catch {
          guard error.code != .interrupted, error.code != .inUse else { throw error }
          report("the node can't start from the snapshot \(snapshot.name): \(error)", true)
          last = error
        }
      }
    } catch {
      try? client.release(identity)
      throw error
    }
    try? client.release(identity)
    if need == .empty, try client.continues(after: .start) {
      return report("the node starts from the beginning of the log, as no snapshot can be used", true)
    }
    throw Self.behind(
      last.map { "no snapshot can be used, the last one as \($0)" }
        ?? "there is no snapshot: begin with a copy of another node's folder, taken while that one does not run")
  }

  private static func behind(_ hint: String) -> StoreError {
    StoreError(.behind, "the log was cut, and no longer has what comes behind this node's store: \(hint)")
  }

  private func copy(_ snapshot: Snapshot, from folder: SnapshotFolder, to path: String) throws(StoreError) {
    report(
      "the node starts from the snapshot \(snapshot.name) of node \(snapshot.node): sequence \(snapshot.position.sequence), "
        + "\(snapshot.bytes) bytes", false)
    let replacement = try StoreReplacement(of: path)
    var (done, reportAt, renewAt) = (0, MonotonicClock.milliseconds + Self.reportInterval, 0)
    do throws(StoreError) {
      try folder.copy(snapshot, to: replacement.folder) { (bytes) throws(StoreError) in
        done += bytes
        if isInterrupted() { throw Self.interrupted }
        let now = MonotonicClock.milliseconds
        if now >= reportAt {
          reportAt = now + Self.reportInterval
          report("\(done) of \(snapshot.bytes) bytes of the snapshot are copied", false)
        }
        if now >= renewAt {
          renewAt = now + settings.lease / 3
          // Should the lease end, the log may be cut: then the node notices, and starts from a later snapshot.
          _ = try? client.renew(identity, at: snapshot.position.sequence)
        }
      }
      _ = try? client.renew(identity, at: snapshot.position.sequence)
    } catch {
      replacement.discard()
      throw error
    }
    try replacement.commit()
    report("the node has the snapshot \(snapshot.name), and plays back what the log has behind it", false)
  }

  /// Gets a lease with the place of a snapshot, so that neither it nor the log behind it goes; waits while an earlier process of the node has one.
  private func lease(at position: LogPosition) throws(StoreError) {
    let end = MonotonicClock.milliseconds + 2 * settings.lease
    while try client.renew(identity, at: position.sequence) == nil {
      if isInterrupted() { throw Self.interrupted }
      guard MonotonicClock.milliseconds < end else { throw ClusterNode.nameInUse(identity.name) }
      usleep(UInt32(Self.retryInterval) * 1000)
    }
  }

  private static let interrupted = StoreError(.interrupted, "the node was asked to end before it had a snapshot")
}
