import Synchronization
import Testing

@testable import RuledIO

@Suite struct ConnectionPermitsTests {
  /// Permits of which 4 are for everybody, and the connections that were closed for others.
  private final class Rig: Sendable {
    let permits = ConnectionPermits(6, unreserved: 4, idleMilliseconds: 1_000, silentMilliseconds: 100)
    let closed = Mutex<[String]>([])

    func take(
      _ name: String, _ owner: ConnectionPermits.Owner, isAdmin: Bool = false, now: UInt64 = 0
    ) -> ConnectionPermit? {
      let permit = permits.take(owner, isAdmin: isAdmin, now: now)
      permit?.onEviction { [self] in closed.withLock { $0.append(name) } }
      return permit
    }

    var names: [String] { closed.withLock { $0 } }
  }

  @Test func `the last permits are for administrators`() {
    let rig = Rig()
    let taken = (0..<4).map { rig.take("\($0)", .user(1)) }
    #expect(taken.allSatisfy { $0 != nil })
    for (index, permit) in taken.enumerated() { permit?.note(isBusy: false, now: UInt64(index)) }
    #expect(rig.take("more", .user(1), now: 10) == nil)
    #expect(rig.take("admin", .user(0), isAdmin: true, now: 10) != nil)
    #expect(rig.take("admin", .user(0), isAdmin: true, now: 10) != nil)
    #expect(rig.take("admin", .user(0), isAdmin: true, now: 10) != nil, "it has two, user 1 has four")
    #expect(rig.names == ["0"] && rig.permits.count == 6)
    taken[1]?.release()
    taken[1]?.release()
    #expect(rig.permits.count == 5)
  }

  @Test func `a new connection takes the permit of the one that has been idle for longest, beyond the limit`() {
    let rig = Rig()
    let taken = (0..<4).map { rig.take("\($0)", .user(1)) }
    for (index, time) in [300, 100, 200, 400].enumerated() { taken[index]?.note(isBusy: false, now: UInt64(time)) }
    taken[1]?.note(hasWatch: true)
    taken[2]?.note(isBusy: true, now: 200)
    #expect(rig.take("new", .user(1), now: 1_299) == nil)
    #expect(rig.take("new", .user(1), now: 1_300) != nil)
    #expect(rig.names == ["0"])
    #expect(rig.permits.count == 4)
  }

  @Test func `over TCP a connection that has sent nothing is idle sooner`() {
    let rig = Rig()
    let taken = (0..<4).map { rig.take("\($0)", .network) }
    taken[0]?.noteSpoken()
    #expect(rig.take("new", .network, now: 99) == nil)
    #expect(rig.take("new", .network, now: 100) != nil)
    #expect(rig.names.count == 1 && rig.names != ["0"])
  }

  @Test func `owners that want more get equal shares, connections with a watch go last`() {
    let rig = Rig()
    let taken = (0..<4).map { rig.take("\($0)", .user(1)) }
    for (index, permit) in taken.enumerated() {
      permit?.note(isBusy: false, now: UInt64(index))
      permit?.note(hasWatch: index != 2)
    }
    #expect(rig.take("a", .user(2), now: 5) != nil)
    #expect(rig.take("b", .user(2), now: 6) != nil)
    #expect(rig.take("c", .user(2), now: 7) == nil)
    #expect(rig.take("d", .user(1), now: 8) == nil)
    #expect(rig.names == ["2", "0"])
  }

  @Test func `a connection that came into use keeps its permit`() {
    let rig = Rig()
    let taken = (0..<4).map { rig.take("\($0)", .user(1)) }
    for permit in taken.dropFirst() { permit?.note(isBusy: false, now: 10) }
    let used = taken[0]
    used?.onEviction { used?.restore() }
    #expect(rig.take("new", .user(2), now: 20) != nil)
    #expect(rig.names.isEmpty && rig.permits.count == 5)
    used?.release()
    #expect(rig.permits.count == 4)
  }
}
