import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledPeers

/// What a link does that breaks.
@Suite struct BreakTests {
  /// A rig whose node b takes batches and answers none, with one batch taken.
  private func heldRig(_ held: Journal<PeerReply>) throws -> PeerRig {
    let rig = try PeerRig { batch, reply in
      if ByteOrder.equal(batch[0], ByteView("again")) { reply.answer(0, batch[0]) } else { held.add(reply) }
    }
    #expect(rig.waitForLink())
    #expect(rig.send(["a", "b"]) == .accepted)
    #expect(eventually { held.items.count == 1 })
    return rig
  }

  @Test func `a request in flight on a connection that was reset is in doubt, and the link comes back`() throws {
    let held = Journal<PeerReply>()
    let rig = try heldRig(held)
    held.items[0].answer(1, ByteView("b"))
    #expect(eventually { rig.answers.items == [.answered("b")] })
    rig.relay.reset()
    #expect(eventually { rig.answers.items == [.answered("b"), .unavailable(wasSent: true)] })
    #expect(eventually { rig.linkings == 2 && rig.link.isUp })
    // An answer that comes too late goes nowhere.
    held.items[0].answer(0, ByteView("a"))
    rig.send(["again"])
    #expect(eventually { rig.answers.items.count == 3 })
    #expect(rig.answers.items[2] == .answered("again"))
    #expect(rig.notesOfB.items.count { $0 == .joined(node: "a") } == 2)
  }

  @Test(arguments: [Relay.Directions.there, .back, []])
  func `a connection that is cut without a word is found dead`(passes: Relay.Directions) throws {
    let rig = try heldRig(Journal())
    rig.relay.pass(passes)
    #expect(eventually { rig.answers.items == [.unavailable(wasSent: true), .unavailable(wasSent: true)] })
    #expect(eventually { rig.notesOfB.items.contains { if case .left("a", _) = $0 { true } else { false } } })
    #expect(!rig.link.isUp && rig.send(["c"]) == .unavailable)
    // The connections that were opened meanwhile hold nothing up.
    rig.relay.pass(.both)
    #expect(rig.waitForLink())
    rig.send(["again"])
    #expect(eventually { rig.answers.items.last == .answered("again") })
  }

  @Test func `a quiet link stays`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    usleep(2_000_000)  // Almost three times the silence after which a peer is dead.
    rig.send(["a"])
    #expect(eventually { rig.answers.items == [.answered("a")] })
    #expect(rig.linkings == 1)
  }

  @Test func `a link that closes answers what it was asked, tells its peer, and is not tried again`() throws {
    let held = Journal<PeerReply>()
    let rig = try heldRig(held)
    rig.link.close()
    #expect(eventually { rig.answers.items == [.unavailable(wasSent: true), .unavailable(wasSent: true)] })
    #expect(
      eventually { rig.notesOfB.items.last == .left(node: "a", reason: "the peer says: node a has closed the link") })
    #expect(rig.send(["c"]) == .unavailable && rig.breaks.isEmpty)
    held.items[0].answer(0, ByteView("a"))
  }

  @Test func `a listener that closes is told of, and the link goes on trying`() throws {
    let rig = try heldRig(Journal())
    rig.listener.close()
    #expect(eventually { rig.answers.items.count == 2 })
    #expect(rig.breaks[0].contains("the peer says: node b stops listening"))
    #expect(eventually { rig.breaks.count > 3 })
  }

  @Test func `a peer that speaks something else is refused`() throws {
    let rig = try PeerRig()
    let plain = try Relay(to: rig.listener.port)
    defer { plain.end() }
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = plain.port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    _ = "GET / HTTP/1.1\r\n\r\n".withCString { send(client, $0, 18, Int32(MSG_NOSIGNAL)) }
    #expect(eventually { rig.refusals.contains { $0.contains("TLS: ") } })
    close(client)
  }

  @Test func `a peer that says nothing is refused in time`() throws {
    var limits = PeerRig.limits
    limits.connectMilliseconds = 200
    let rig = try PeerRig(limitsOfA: limits, limitsOfB: limits)
    rig.relay.pass([])
    rig.relay.reset()
    #expect(eventually { rig.refusals.contains { $0.contains("within 200 ms") } })
    #expect(eventually { rig.breaks.contains { $0.contains("within 200 ms") } })
  }

  @Test func `a host without an address is tried again`() throws {
    let rig = try PeerRig()
    let notes = Journal<PeerNote>()
    let settings = PeerSettings(
      name: "a", identity: Certificates.shared.identity("a"), limits: PeerRig.limits
    ) { notes.add($0) }
    let link = try PeerLink(on: rig.a, to: "b", at: "no-such-host.invalid:7433", settings)
    #expect(eventually { notes.items.count > 1 })
    guard case .broken("b", let reason, _) = notes.items[0] else {
      Issue.record("\(notes.items)")
      return
    }
    #expect(reason.hasPrefix("no-such-host.invalid:7433: the host has no address: "))
    link.close()
  }
}
