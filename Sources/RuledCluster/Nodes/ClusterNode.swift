import RuledCore
package import RuledStore
import RuledThreads

/// A node of a cluster: renews its lease, plays the log back that the owner writes, and takes over when the owner's lease is over.
package final class ClusterNode: @unchecked Sendable {  // `lock` guards what changes
  package struct Figures: Sendable {
    /// The owner of the log as far as the node knows; nil if there is none or the node could not ask yet.
    package var owner: NodeIdentity?
    package var epoch: Int64 = 0
    /// The number of batches in the log.
    package var end: Int64 = 0
    /// Why the node can't play the log back; nil while it can.
    package var problem: StoreError?
    /// Why the lease can't be renewed; nil while it can.
    package var leaseProblem: StoreError?
    /// Why the node can't load the rules in force and so must not take over; nil while it can.
    package var rulesProblem: StoreError?
    /// Whether the node is drained, so that it does not take over.
    package var isDrained = false
    /// Whether the node owns the log, as far as it knows.
    package var isOwner = false
    /// When the lease ends by the node's own steady clock, in milliseconds; 0 without one.
    var leaseEnd = 0

    /// How long the lease still lasts, in milliseconds; 0 when it is over.
    package var leaseLeft: Int { max(0, leaseEnd - MonotonicClock.millisecondsWithSuspend) }
  }

  /// Why an owner has to stop serving.
  package enum OwnerEvent: Sendable {
    case replaced(StoreError)
    /// The node was drained: it has to give the log up.
    case drained
    /// A sentence on an upgrade of the cluster's tables; it may come several times.
    case upgrade(String)
  }

  /// How often the end of the log is read, in milliseconds.
  private static let interval = 100
  /// The most batches that one query reads.
  private static let readLimit = 64

  let settings: ClusterSettings
  package let identity: NodeIdentity
  let played: PlayedStore
  private let writer: LogWriter
  package let counts = ClusterCounts()
  private let lock = Condition()
  private var current = Figures()
  private var isStopping = false
  private var isLeased = false
  /// Since when the node has had its lease without a gap, by its own steady clock, in milliseconds.
  private var leasedSince = 0
  /// Called with the events of an owner; nil while the node does not serve as the owner.
  private var onEvent: (@Sendable (OwnerEvent) -> Void)?
  /// Whether the node has begun to serve as the owner: it then serves as nothing else, until it ends.
  private var hasServed = false
  /// The last report of an upgrade; the lease's thread alone uses it.
  private var toldUpgrade = FormatReview.isNewest

  /// A node that has not joined, with its own store.
  package init(_ settings: ClusterSettings, identity: NodeIdentity, played: PlayedStore) {
    self.settings = settings
    self.identity = identity
    self.played = played
    writer = LogWriter(settings, node: identity, counts: counts)
  }

  package var figures: Figures {
    var figures = lock.locked { current }
    if figures.isOwner, figures.leaseProblem == nil, !isConfirmed { figures.leaseProblem = Self.unconfirmed }
    return figures
  }

  private static let unconfirmed = StoreError(
    .unreachable, "no standby has confirmed the lease of this node: it answers no reads, as another one may own the log"
  )

  /// Whether the node has its lease, by its own steady clock, and the standbys have it too: until it ends no other node takes the log over.
  ///
  /// Without the standbys, an owner beside a replaced primary would go on: its renewals reach that primary alone.
  package var hasLease: Bool { isConfirmed && lock.locked { current.leaseLeft > 0 } }

  private var isConfirmed: Bool {
    !settings.waitsForStandbys || MonotonicClock.millisecondsWithSuspend < writer.confirmedAt + settings.lease
  }

  /// Whether the node follows, and would take over if the owner died now.
  package var canTakeOver: Bool { lock.locked { mayOwn && !current.isOwner && current.problem == nil } }

  /// Whether nothing that the node knows of itself keeps it from owning the log; read it under `lock`.
  private var mayOwn: Bool { isLeased && !current.isDrained && current.rulesProblem == nil }

  /// Sets why the node can't load the rules in force, which keeps it from taking over; nil if it can.
  package func setRulesProblem(_ reason: StoreError?) { lock.locked { current.rulesProblem = reason } }

  /// The position up to which the node has played the log back.
  package var position: LogPosition { played.position }

  /// Checks that the database can be used, and plays the first batches back.
  ///
  /// Returns the error if the database can't be reached, which may pass. The rest is played back under a lease, so that the log is not cut
  /// before the node has it.
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

  /// Ends `keepLease` and `awaitOwnership`.
  package func stop() {
    lock.signal { isStopping = true }
    writer.stop()
  }

  // MARK: The lease

  /// Renews the lease at each third of its duration until `stop`, and then releases it.
  ///
  /// It also syncs the node's own store each time.
  package func keepLease() {
    let client = LogClient(settings, counts: counts)
    var isWell = false
    while !lock.locked({ isStopping }) {
      do throws(StoreError) {
        let start = MonotonicClock.millisecondsWithSuspend
        let unsafe = client.problem(of: try client.durability())
        let isDrained = try client.renewLease(of: identity, at: played.position.sequence)
        if isDrained != nil, !isWell {
          try client.removeProblem(of: identity.name)
          isWell = true
        }
        writer.setProblem(unsafe.map { StoreError(.unsafeDatabase, $0) })
        let problem = isDrained == nil ? Self.nameInUse(identity.name) : nil
        lock.locked {
          if !isLeased || start > current.leaseEnd { leasedSince = MonotonicClock.millisecondsWithSuspend }
          isLeased = isDrained != nil
          current.leaseProblem = problem
          current.isDrained = isDrained ?? current.isDrained
        }
        let holds = try tellOwner(client)
        lock.locked { current.leaseEnd = isDrained == nil || !holds ? 0 : start + settings.lease }
        if isDrained != nil { try keepFormat(client) }
      } catch {
        if error.code == .unsafeDatabase || error.code == .newerFormat { writer.setProblem(error) }
        lock.locked {
          isLeased = false
          current.leaseProblem = error
        }
      }
      _ = try? played.store.syncCommits()  // a failure shows with the next commit
      let _: Void? = lock.wait(milliseconds: settings.lease / 3) { isStopping ? () : nil }
    }
    try? client.releaseLease(of: identity)
  }

  /// Has the standbys confirm the lease of the owner, while no commit does, until `stop`.
  ///
  /// It waits as long as a commit does, while `keepLease` goes on: the others see the lease although no standby has it.
  package func keepConfirmed() {
    guard settings.waitsForStandbys else { return }
    let client = LogClient(settings)
    while !lock.locked({ isStopping }) {
      let start = MonotonicClock.millisecondsWithSuspend
      if lock.locked({ current.isOwner }), start - writer.confirmedAt >= settings.lease / 3,
        (try? client.confirmLease(of: identity, at: played.position.sequence)) == true
      {
        writer.noteConfirmed(at: start)
      }
      let _: Void? = lock.wait(milliseconds: settings.lease / 6) { isStopping ? () : nil }
    }
  }

  /// Makes the lease's thread call `handler` when the owner has to stop serving, once for each event.
  ///
  /// Without that, an owner that commits nothing would not notice that it was replaced while its process was stopped.
  package func serve(_ handler: @escaping @Sendable (OwnerEvent) -> Void) {
    lock.signal {
      onEvent = handler
      hasServed = true
      current.isOwner = true
    }
  }

  /// Tells a node that serves as the owner if it has to stop; returns whether its renewed lease lets it answer reads.
  ///
  /// A replaced node renews its lease all the same.
  private func tellOwner(_ client: LogClient) throws(StoreError) -> Bool {
    guard lock.locked({ hasServed }) else { return true }
    let head = try client.readHead()
    let isReplaced = head.owner?.incarnation != identity.incarnation
    // A primary cut off from the cluster may show an earlier owner.
    let isOld = lock.locked { head.epoch < current.epoch }
    guard !isOld else { return false }
    let event: (handler: (OwnerEvent) -> Void, OwnerEvent)? = lock.locked {
      current.owner = head.owner
      current.epoch = head.epoch
      current.end = head.position.sequence
      guard isReplaced || current.isDrained, let handler = onEvent else { return nil }
      onEvent = nil
      current.isOwner = false
      return (handler, isReplaced ? .replaced(Self.replaced) : .drained)
    }
    if let (handler, event) = event { handler(event) }
    return !isReplaced
  }

  /// Brings the tables to the latest format that all nodes read, as the owner, and tells of it.
  private func keepFormat(_ client: LogClient) throws(StoreError) {
    let handler = lock.locked { current.isOwner ? onEvent : nil }
    let review = try client.reviewFormat(for: identity, isOwner: handler != nil)
    guard let handler, review != toldUpgrade else { return }
    toldUpgrade = review
    let format = settings.schema.newest
    switch review {
    case .isNewest: break
    case .waits(let nodes):
      handler(.upgrade("the tables of the cluster get format \(format) once these nodes read it: \(nodes)"))
    case .upgraded: handler(.upgrade("the tables of the cluster have format \(format) now"))
    }
  }

  private static let replaced = StoreError(.fenced, "another node has taken the log of commits over")

  static func nameInUse(_ name: String) -> StoreError {
    StoreError(
      .inUse,
      "another process of the cluster is called \(name): give each node a name of its own; after a kill, wait for the lease's end"
    )
  }

  // MARK: Following

  /// Plays the log back until this node owns it; returns its writer, or nil after `stop`.
  ///
  /// Throws errors that waiting does not cure: the node's own store fails, or the log does not continue the batches that it has played back.
  package func awaitOwnership() throws(StoreError) -> LogWriter? {
    let client = LogClient(settings, counts: counts)
    while true {
      do throws(StoreError) {
        let head = try follow(client)
        if lock.locked({ mayOwn }), isFree(head), try writer.takeOver(from: head) {
          // The standbys have all of the log, as they have the new epoch.
          while let end = writer.end, played.position.sequence < end.sequence, !lock.locked({ isStopping }) {
            try follow(client, through: end.sequence)
          }
          // If the node was stopped meanwhile, another one may have written the last batches that this one has played back.
          if let epoch = writer.epoch, writer.end == played.position {
            lock.locked {
              current.owner = identity
              current.epoch = epoch
              current.problem = nil
            }
            return writer
          }
        }
        lock.locked { current.problem = nil }
      } catch {
        lock.locked { current.problem = error }
        if [.diverged, .behind, .corrupt, .newerFormat].contains(error.code) || played.store.state.failure != nil {
          throw error
        }
      }
      let isStopped: Bool? = lock.wait(milliseconds: Self.interval) { isStopping ? true : nil }
      if isStopped == true { return nil }
    }
  }

  /// Whether no other node is about to go on as the owner.
  ///
  /// After an outage of the database the leases of all are over. A node that renews first leaves the owner the time of a lease to do so, too.
  private func isFree(_ head: LogHead) -> Bool {
    guard let owner = head.owner, owner.incarnation != identity.incarnation, !head.isLeaseReleased else { return true }
    return head.isLeaseOver && MonotonicClock.millisecondsWithSuspend - lock.locked { leasedSince } >= settings.lease
  }

  /// Plays the log back to the batch `last`, or as far as its standbys have it, with at most `reads` queries; returns the log's end.
  ///
  /// Commits that the primary alone has are lost if it fails: a crash of the primary shows commits that still waited for a standby.
  @discardableResult
  private func follow(_ client: LogClient, through last: Int64? = nil, reads: Int = .max) throws(StoreError) -> LogHead
  {
    let head = try client.readHead()
    if let cluster = client.cluster { try played.join(cluster.id) }
    lock.locked {
      current.owner = head.isLeaseReleased ? nil : head.owner
      current.epoch = head.epoch
      current.end = head.position.sequence
    }
    let position = played.position
    guard head.position.sequence > position.sequence || head.position == position else {
      throw StoreError(
        .diverged,
        "the log ends at \(head.position.sequence), this node has played back \(position.sequence) batches, or others: the database has "
          + "lost commits or was restored; start the node again, and it takes what the log has")
    }
    var left = reads
    let last = last ?? head.confirmed
    while left > 0, played.position.sequence < last, !lock.locked({ isStopping }) {
      left -= 1
      let count = try client.read(after: played.position, through: last, limit: Self.readLimit) {
        (batch, next) throws(StoreError) in
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
