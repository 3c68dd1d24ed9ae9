internal import Synchronization

/// The permits for open connections: decides who gets one when none is free.
///
/// The last permits are for administrators. If no other is free, a new connection takes the permit of the one that has been idle for longest:
/// one idle beyond its time, or one of an owner that has more permits than the new connection's. So owners that want more permits than
/// there are get equal shares.
package final class ConnectionPermits: Sendable {
  /// An owner of connections, whose connections are counted together.
  package enum Owner: Hashable, Sendable, CustomStringConvertible {
    /// A user of this host, by its number.
    case user(UInt32)
    /// Clients over TCP.
    case network
    /// The clients of another node.
    case node(String)

    /// A number that stands for the owner.
    fileprivate var number: UInt32 {
      switch self {
      case .user(let number): number
      case .network: .max
      case .node(let name): UInt32(truncatingIfNeeded: name.hashValue) | 1 << 31
      }
    }

    /// The owner as the log names it.
    package var description: String {
      switch self {
      case .user(let number): "user \(number)"
      case .network: "TCP"
      case .node(let name): "node \(name)"
      }
    }
  }

  private struct State {
    var permits: [ObjectIdentifier: ConnectionPermit] = [:]
    var counts: [Owner: Int] = [:]
  }

  package let total: Int
  /// The number of permits for everybody.
  let unreserved: Int
  /// How long a connection may be idle, and how long over TCP before its first byte, in milliseconds.
  private let idle: UInt64
  private let silent: UInt64
  private let state = Mutex(State())

  package init(_ total: Int, unreserved: Int, idleMilliseconds: UInt64, silentMilliseconds: UInt64) {
    self.total = total
    self.unreserved = unreserved
    idle = idleMilliseconds
    silent = min(silentMilliseconds, idleMilliseconds)
  }

  package var count: Int { state.withLock { $0.permits.count } }

  /// The owner with the most permits, and their number; nil while none is taken.
  package var largest: (owner: Owner, count: Int)? {
    state.withLock { $0.counts.max { $0.value < $1.value } }.map { ($0.key, $0.value) }
  }

  /// A permit for a new connection, or nil; `now` is in milliseconds of the loops' clock.
  ///
  /// - Complexity: O(*n*) in the number of permits if none is free.
  package func take(_ owner: Owner, isAdmin: Bool, now: UInt64) -> ConnectionPermit? {
    let permit = ConnectionPermit(of: owner, in: self, now: now)
    let (isTaken, victim) = state.withLock { state -> (Bool, ConnectionPermit?) in
      var victim: ConnectionPermit?
      if state.permits.count >= (isAdmin ? total : unreserved) {
        victim = self.victim(for: owner, state, now)
        guard let victim else { return (false, nil) }
        Self.remove(victim, from: &state)
      }
      Self.add(permit, to: &state)
      return (true, victim)
    }
    victim?.evict()
    return isTaken ? permit : nil
  }

  private func victim(for owner: Owner, _ state: State, _ now: UInt64) -> ConnectionPermit? {
    let own = state.counts[owner] ?? 0
    var overdue: Candidate?
    var rich: Candidate?
    var watching: Candidate?
    for permit in state.permits.values {
      guard let candidate = Candidate(permit) else { continue }
      let limit = permit.owner == .network && !permit.hasSpoken ? silent : idle
      if !permit.hasWatch, now >= candidate.since &+ limit { candidate.replace(&overdue) }
      guard (state.counts[permit.owner] ?? 0) > own + 1 else { continue }
      if permit.hasWatch { candidate.replace(&watching) } else { candidate.replace(&rich) }
    }
    return (overdue ?? rich ?? watching)?.permit
  }

  /// A permit whose connection may be closed.
  private struct Candidate {
    let permit: ConnectionPermit
    let since: UInt64

    init?(_ permit: ConnectionPermit) {
      guard let since = permit.idleSince else { return nil }
      (self.permit, self.since) = (permit, since)
    }

    /// Takes the permit of another candidate that has been idle for less long.
    func replace(_ other: inout Candidate?) { if other.map({ since < $0.since }) ?? true { other = self } }
  }

  private static func add(_ permit: ConnectionPermit, to state: inout State) {
    state.permits[ObjectIdentifier(permit)] = permit
    state.counts[permit.owner, default: 0] += 1
  }

  @discardableResult
  private static func remove(_ permit: ConnectionPermit, from state: inout State) -> Bool {
    guard state.permits.removeValue(forKey: ObjectIdentifier(permit)) != nil else { return false }
    let left = (state.counts[permit.owner] ?? 1) - 1
    state.counts[permit.owner] = left > 0 ? left : nil
    return true
  }

  fileprivate func release(_ permit: ConnectionPermit) { state.withLock { _ = Self.remove(permit, from: &$0) } }

  fileprivate func restore(_ permit: ConnectionPermit) { state.withLock { Self.add(permit, to: &$0) } }
}

/// The permit of one connection, until it is released.
package final class ConnectionPermit: Sendable {
  let owner: ConnectionPermits.Owner
  /// A number that stands for the owner.
  package let ownerNumber: UInt32
  private let permits: ConnectionPermits
  /// Since when the connection has been idle, in milliseconds of the loops' clock; the largest number while it is not.
  private let since: Atomic<UInt64>
  private let spoken = Atomic(false)
  private let watches = Atomic(false)
  private let eviction = Mutex<(@Sendable () -> Void)?>(nil)

  fileprivate init(of owner: ConnectionPermits.Owner, in permits: ConnectionPermits, now: UInt64) {
    self.owner = owner
    ownerNumber = owner.number
    self.permits = permits
    since = Atomic(now)
  }

  /// Notes whether the connection is in use, now that it was used.
  package func note(isBusy: Bool, now: UInt64) { since.store(isBusy ? .max : now, ordering: .relaxed) }

  package func noteSpoken() { spoken.store(true, ordering: .relaxed) }

  package func note(hasWatch: Bool) { watches.store(hasWatch, ordering: .relaxed) }

  /// Has `close` called, on any thread, when another connection gets the permit.
  package func onEviction(_ close: @escaping @Sendable () -> Void) { eviction.withLock { $0 = close } }

  /// Gives the permit back; to be called when the connection is closed.
  package func release() { permits.release(self) }

  /// Takes the permit again: the connection is in use, and was not closed for the other one.
  package func restore() { permits.restore(self) }

  fileprivate var hasSpoken: Bool { spoken.load(ordering: .relaxed) }

  fileprivate var hasWatch: Bool { watches.load(ordering: .relaxed) }

  /// Since when it has been idle; nil while it is in use, or can't be closed yet.
  fileprivate var idleSince: UInt64? {
    let since = since.load(ordering: .relaxed)
    return since < .max && eviction.withLock({ $0 != nil }) ? since : nil
  }

  fileprivate func evict() { eviction.withLock { $0 }?() }
}
