internal import Synchronization

/// The places for open connections: decides who gets one when none is free.
///
/// The last places are for administrators. If no other is free, a new connection takes the place of the one that has been idle for longest:
/// one idle beyond its time, or one of an owner that has more places than the new connection's. So owners that want more places than
/// there are get equal shares.
package final class ConnectionPlaces: Sendable {
  /// An owner of connections, whose connections are counted together.
  package enum Owner: Hashable, Sendable, CustomStringConvertible {
    /// A user of this host, by its number.
    case user(UInt32)
    /// Clients over TCP.
    case network
    /// The clients of another node.
    case node(String)

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
    var places: [ObjectIdentifier: ConnectionPlace] = [:]
    var counts: [Owner: Int] = [:]
  }

  package let total: Int
  /// The number of places for everybody.
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

  package var count: Int { state.withLock { $0.places.count } }

  /// The owner with the most places, and their number; nil while none is taken.
  package var largest: (owner: Owner, count: Int)? {
    state.withLock { $0.counts.max { $0.value < $1.value } }.map { ($0.key, $0.value) }
  }

  /// A place for a new connection, or nil; `now` is in milliseconds of the loops' clock.
  ///
  /// - Complexity: O(*n*) in the number of places if none is free.
  package func take(_ owner: Owner, isAdmin: Bool, now: UInt64) -> ConnectionPlace? {
    let place = ConnectionPlace(of: owner, in: self, now: now)
    let (isTaken, victim) = state.withLock { state -> (Bool, ConnectionPlace?) in
      var victim: ConnectionPlace?
      if state.places.count >= (isAdmin ? total : unreserved) {
        victim = self.victim(for: owner, state, now)
        guard let victim else { return (false, nil) }
        Self.remove(victim, from: &state)
      }
      Self.add(place, to: &state)
      return (true, victim)
    }
    victim?.evict()
    return isTaken ? place : nil
  }

  private func victim(for owner: Owner, _ state: State, _ now: UInt64) -> ConnectionPlace? {
    let own = state.counts[owner] ?? 0
    var overdue: Candidate?
    var rich: Candidate?
    var watching: Candidate?
    for place in state.places.values {
      guard let candidate = Candidate(place) else { continue }
      let limit = place.owner == .network && !place.hasSpoken ? silent : idle
      if !place.hasWatch, now >= candidate.since &+ limit { candidate.replace(&overdue) }
      guard (state.counts[place.owner] ?? 0) > own + 1 else { continue }
      if place.hasWatch { candidate.replace(&watching) } else { candidate.replace(&rich) }
    }
    return (overdue ?? rich ?? watching)?.place
  }

  /// A place whose connection may be closed.
  private struct Candidate {
    let place: ConnectionPlace
    let since: UInt64

    init?(_ place: ConnectionPlace) {
      guard let since = place.idleSince else { return nil }
      (self.place, self.since) = (place, since)
    }

    /// Takes the place of another candidate that has been idle for less long.
    func replace(_ other: inout Candidate?) { if other.map({ since < $0.since }) ?? true { other = self } }
  }

  private static func add(_ place: ConnectionPlace, to state: inout State) {
    state.places[ObjectIdentifier(place)] = place
    state.counts[place.owner, default: 0] += 1
  }

  @discardableResult
  private static func remove(_ place: ConnectionPlace, from state: inout State) -> Bool {
    guard state.places.removeValue(forKey: ObjectIdentifier(place)) != nil else { return false }
    let left = (state.counts[place.owner] ?? 1) - 1
    state.counts[place.owner] = left > 0 ? left : nil
    return true
  }

  fileprivate func release(_ place: ConnectionPlace) { state.withLock { _ = Self.remove(place, from: &$0) } }

  fileprivate func restore(_ place: ConnectionPlace) { state.withLock { Self.add(place, to: &$0) } }
}

/// The place of one connection, until it is released.
package final class ConnectionPlace: Sendable {
  let owner: ConnectionPlaces.Owner
  private let places: ConnectionPlaces
  /// Since when the connection has been idle, in milliseconds of the loops' clock; the largest number while it is not.
  private let since: Atomic<UInt64>
  private let spoken = Atomic(false)
  private let watches = Atomic(false)
  private let eviction = Mutex<(@Sendable () -> Void)?>(nil)

  fileprivate init(of owner: ConnectionPlaces.Owner, in places: ConnectionPlaces, now: UInt64) {
    self.owner = owner
    self.places = places
    since = Atomic(now)
  }

  /// Notes whether the connection is in use, now that it was used.
  package func note(isBusy: Bool, now: UInt64) { since.store(isBusy ? .max : now, ordering: .relaxed) }

  package func noteSpoken() { spoken.store(true, ordering: .relaxed) }

  package func note(hasWatch: Bool) { watches.store(hasWatch, ordering: .relaxed) }

  /// Has `close` called, on any thread, when another connection gets the place.
  package func onEviction(_ close: @escaping @Sendable () -> Void) { eviction.withLock { $0 = close } }

  /// Gives the place back; to be called when the connection is closed.
  package func release() { places.release(self) }

  /// Takes the place again: the connection is in use, and was not closed for the other one.
  package func restore() { places.restore(self) }

  fileprivate var hasSpoken: Bool { spoken.load(ordering: .relaxed) }

  fileprivate var hasWatch: Bool { watches.load(ordering: .relaxed) }

  /// Since when it has been idle; nil while it is in use, or can't be closed yet.
  fileprivate var idleSince: UInt64? {
    let since = since.load(ordering: .relaxed)
    return since < .max && eviction.withLock({ $0 != nil }) ? since : nil
  }

  fileprivate func evict() { eviction.withLock { $0 }?() }
}
