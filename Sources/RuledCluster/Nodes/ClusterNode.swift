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
    /// Why the node must not take over; nil while it may.
    package var rulesProblem: StoreError?
    /// Whether the node is drained: it does not take the log over.
    package var isDrained = false
    /// Whether the node owns the log, as far as it knows.
    package var isOwner = false
    /// When the lease ends by the node's own steady clock, in milliseconds; 0 without one.
    var leaseEnd = 0

    /// How many milliseconds are left of the lease; 0 when it is over.
    package var leaseLeft: Int { max(0, leaseEnd - MonotonicClock.milliseconds) }
  }

  /// What an owner learns while it serves.
  package enum OwnerEvent: Sendable {
    /// Another node has taken the log over.
    case replaced(StoreError)
    /// The node is to give the log up.
    case drained
  }

  /// How many milliseconds pass between two looks at the log.
  private static let interval = 100
  /// How many batches are read at once.
  private static let readLimit = 64

  let settings: ClusterSettings
  /// The node's name and process.
  package let identity: NodeIdentity
  let played: PlayedStore
  private let writer: LogWriter
  /// What the node counts.
  package let counts = ClusterCounts()
  private let lock = Condition()
  private var known = Figures()
  private var isStopping = false
  private var isLeased = false
  /// What is told to an owner; nil while the node does not serve as the owner.
  private var onEvent: (@Sendable (OwnerEvent) -> Void)?

  /// A node that has not joined, with its own store.
  package init(_ settings: ClusterSettings, identity: NodeIdentity, played: PlayedStore) {
    self.settings = settings
    self.identity = identity
    self.played = played
    writer = LogWriter(settings, node: identity, counts: counts)
  }

  /// What the node knows of its cluster.
  package var figures: Figures { lock.locked { known } }

  /// Keeps the node from taking over while there is a reason.
  package func forbidTakeOver(_ reason: StoreError?) { lock.locked { known.rulesProblem = reason } }

  /// How far the node has played the log back.
  package var position: LogPosition { played.position }

  /// Checks that the database can be used at all, and begins to play the log back; gives the error of a database that can't be reached, which may pass.
  ///
  /// The rest is played back under a lease, so that the log is not cut before the node has it.
  package func review() throws(StoreError) -> StoreError? {
    let client = LogClient(settings)
    do throws(StoreError) {
      _ = try client.connection()
      if let cluster = client.cluster { try played.join(cluster.id) }
      try follow(client, reads: 1)
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
    let client = LogClient(settings, counts: counts)
    while !lock.locked({ isStopping }) {
      do throws(StoreError) {
        let start = MonotonicClock.milliseconds
        let isDrained = try client.renew(identity, at: played.position.sequence)
        let unsafe = try client.durabilityProblem()
        writer.forbid(unsafe.map { StoreError(.unsafeDatabase, $0) })
        let problem = isDrained == nil ? Self.nameInUse(identity.name) : nil
        lock.locked {
          isLeased = isDrained != nil
          known.leaseProblem = problem
          known.isDrained = isDrained ?? known.isDrained
          known.leaseEnd = isDrained == nil ? 0 : start + settings.lease
        }
        try tellOwner(client)
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

  /// Begins to tell the owner what it has to know, from the lease's thread; `handler` is called once for each event.
  ///
  /// An owner that commits nothing would not notice otherwise that it was replaced while its process stood still.
  package func serve(_ handler: @escaping @Sendable (OwnerEvent) -> Void) {
    lock.signal {
      onEvent = handler
      known.isOwner = true
    }
  }

  private func tellOwner(_ client: LogClient) throws(StoreError) {
    guard let handler = lock.locked({ onEvent }) else { return }
    let head = try client.look()
    let isReplaced = head.owner?.incarnation != identity.incarnation
    let event: OwnerEvent? = lock.locked {
      // A primary that was cut off may show an owner from before this one.
      guard head.epoch >= known.epoch else { return nil }
      known.owner = head.owner
      known.epoch = head.epoch
      known.end = head.position.sequence
      guard isReplaced || known.isDrained else { return nil }
      onEvent = nil
      known.isOwner = false
      return isReplaced ? .replaced(Self.replaced) : .drained
    }
    if let event { handler(event) }
  }

  private static let replaced = StoreError(.fenced, "another node has taken the log of commits over")

  /// The error of a node whose name another process has.
  static func nameInUse(_ name: String) -> StoreError {
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
    let client = LogClient(settings, counts: counts)
    while true {
      do throws(StoreError) {
        let head = try follow(client)
        let mayOwn = lock.locked { isLeased && !known.isDrained && known.rulesProblem == nil }
        if mayOwn, isFree(head), try writer.take(from: head) {
          while let end = writer.end, played.position != end { try follow(client) }
          if let epoch = writer.epoch {
            lock.locked {
              known.owner = identity
              known.epoch = epoch
              known.problem = nil
            }
            return writer
          }
        }
        lock.locked { known.problem = nil }
      } catch {
        lock.locked { known.problem = error }
        if [.diverged, .behind, .corrupt, .newerFormat].contains(error.code) || played.store.state.failure != nil {
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

  /// Plays back what the log has, with at most so many reads; gives where it stood.
  @discardableResult
  private func follow(_ client: LogClient, reads: Int = .max) throws(StoreError) -> LogHead {
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
    var left = reads
    while left > 0, played.position.sequence < head.position.sequence, !lock.locked({ isStopping }) {
      left -= 1
      let count = try client.read(after: played.position, limit: Self.readLimit) { (batch, next) throws(StoreError) in
        try played.apply(batch, to: next)
      }
      guard count > 0 else {
        throw StoreError(
          .behind,
          "the log was cut: it has no batch behind \(played.position.sequence), though it ends at \(head.position.sequence); start this "
            + "node again, so that it starts from a snapshot")
      }
    }
    return head
  }
}
