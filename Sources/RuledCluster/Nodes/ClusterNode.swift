import Glibc
import RuledCore
package import RuledStore
import RuledThreads
import Synchronization

/// A node of a cluster until it owns the log: it renews its lease, plays the log back as others write it, and takes over when the owner's lease is over.
package final class ClusterNode: @unchecked Sendable {  // `lock` guards what changes
  /// What a node knows of its cluster.
  package struct Figures: Sendable {
    /// Who owns the log, as far as the node knows; nil for nobody, or if it could not ask yet.
    package var owner: NodeIdentity?
    /// The epoch of the owner.
    package var epoch: Int64 = 0
    /// How many batches the log has.
    package var end: Int64 = 0
    /// Why the node can't follow the log; nil while it can.
    package var problem: StoreError?
    /// Why the lease can't be renewed; nil while it can.
    package var leaseProblem: StoreError?
  }

  /// How many milliseconds pass between two looks at the log.
  private static let interval = 100
  /// How many batches are read at once.
  private static let readLimit = 64

  private let settings: ClusterSettings
  /// The node's name and process.
  package let identity: NodeIdentity
  private let played: PlayedStore
  private let writer: LogWriter
  private let lock = Condition()
  private var known = Figures()
  private var isStopping = false
  private var isLeased = false

  /// A node that has not joined, with its own store.
  package init(_ settings: ClusterSettings, identity: NodeIdentity, played: PlayedStore) {
    self.settings = settings
    self.identity = identity
    self.played = played
    writer = LogWriter(settings, node: identity)
  }

  /// What the node knows of its cluster.
  package var figures: Figures { lock.locked { known } }

  /// How far the node has played the log back.
  package var position: LogPosition { played.position }

  /// Checks that the database can be used at all; gives the error of one that can't be reached, which may pass.
  package func review() throws(StoreError) -> StoreError? {
    let client = LogClient(settings)
    do throws(StoreError) {
      _ = try client.connection()
      if let cluster = client.cluster { try played.join(cluster.id) }
      try follow(client)
      return nil
    } catch {
      guard error.code == .unreachable else { throw error }
      return error
    }
  }

  /// Ends both loops.
  package func stop() {
    lock.signal { isStopping = true }
    writer.stop()
  }

  // MARK: The lease

  /// Renews the lease three times in its course, until `stop`; gives it back then.
  ///
  /// It also brings the node's own store on to the disk now and then.
  package func keepLease() {
    let client = LogClient(settings)
    while !lock.locked({ isStopping }) {
      do throws(StoreError) {
        let isRenewed = try client.renew(identity, at: played.position.sequence)
        let unsafe = try client.durabilityProblem()
        writer.forbid(unsafe.map { StoreError(.unsafeDatabase, $0) })
        let problem = isRenewed ? nil : Self.nameInUse(identity.name)
        lock.locked {
          isLeased = isRenewed
          known.leaseProblem = problem
        }
      } catch {
        if error.code == .unsafeDatabase { writer.forbid(error) }
        lock.locked {
          isLeased = false
          known.leaseProblem = error
        }
      }
      _ = try? played.store.sync()  // a failure shows with the next commit
      let _: Void? = lock.wait(milliseconds: settings.lease / 3) { isStopping ? () : nil }
    }
    try? client.release(identity)
  }

  private static func nameInUse(_ name: String) -> StoreError {
    StoreError(
      .inUse,
      "another process of the cluster is called \(name): give each node a name of its own; after a kill, wait for the lease's end"
    )
  }

  // MARK: Following

  /// Plays the log back until this node owns it; gives its writer, nil after `stop`.
  ///
  /// Throws what a node can't get over by waiting: its own store fails, or the log is not the one that it has played back.
  package func awaitOwnership() throws(StoreError) -> LogWriter? {
    let client = LogClient(settings)
    while true {
      do throws(StoreError) {
        let head = try follow(client)
        if lock.locked({ isLeased }), isFree(head), try writer.take(from: head) {
          while let end = writer.end, played.position != end { try follow(client) }
          if writer.end != nil { return writer }
        }
        lock.locked { known.problem = nil }
      } catch {
        lock.locked { known.problem = error }
        if [.diverged, .corrupt, .newerFormat].contains(error.code) || played.store.state.failure != nil {
          throw error
        }
      }
      let isStopped: Bool? = lock.wait(milliseconds: Self.interval) { isStopping ? true : nil }
      if isStopped == true { return nil }
    }
  }

  private func isFree(_ head: LogHead) -> Bool {
    head.owner == nil || head.isLeaseOver || head.owner?.incarnation == identity.incarnation
  }

  /// Plays back what the log has; gives where it stood.
  @discardableResult
  private func follow(_ client: LogClient) throws(StoreError) -> LogHead {
    let head = try client.look()
    if let cluster = client.cluster { try played.join(cluster.id) }
    lock.locked {
      known.owner = head.owner
      known.epoch = head.epoch
      known.end = head.position.sequence
    }
    let place = played.position
    guard head.position.sequence > place.sequence || head.position == place else {
      throw StoreError(
        .diverged,
        "the log ends at \(head.position.sequence), this node has played back \(place.sequence) batches, or others: the database has "
          + "lost commits or was restored; to take what it has for the truth, remove this node's store")
    }
    while played.position.sequence < head.position.sequence, !lock.locked({ isStopping }) {
      let count = try client.read(after: played.position, limit: Self.readLimit) { (batch, next) throws(StoreError) in
        try played.apply(batch, to: next)
      }
      guard count > 0 else {
        throw StoreError(
          .diverged,
          "the log has no batch behind \(played.position.sequence), though it ends at \(head.position.sequence): begin with a copy of "
            + "another node's store")
      }
    }
    return head
  }
}
