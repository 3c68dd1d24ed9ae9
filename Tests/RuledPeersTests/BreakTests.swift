import Glibc
import RuledCore
import RuledIO
import RuledThreads
import TestSupport
import Testing

@testable import RuledPeers

/// What links and tunnels do that break.
@Suite struct BreakTests {
  @Test func `a tunnel that was reset has the bytes that came before, and the link comes back`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    daemon.send("an answer")
    #expect(client.receive(9) == "an answer")
    rig.relay.reset()
    #expect(client.receiveAll().isEmpty && daemon.receiveAll().isEmpty)
    #expect(eventually { rig.outcomes.items.count == 1 })
    #expect(eventually { rig.linkings == 2 && rig.link.isUp })
    let next = try rig.tunnel()
    next.client.send("again")
    #expect(next.daemon.receive(5) == "again")
  }

  @Test(arguments: [Relay.Directions.there, .back, []])
  func `a connection that is cut without a word is found dead at both ends`(passes: Relay.Directions) throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    rig.relay.pass(passes)
    #expect(client.receiveAll().isEmpty && daemon.receiveAll().isEmpty)
    #expect(eventually { !rig.link.isUp })
    #expect(eventually { rig.notesOfB.items.count { if case .left("a", _) = $0 { true } else { false } } == 2 })
    // Nobody waits for a node that can't be reached, and the client's socket is given back.
    #expect(
      eventually {
        _ = rig.open()
        return rig.outcomes.items.contains { if case .refused = $0 { true } else { false } }
      })
    // The connections that were opened meanwhile hold nothing up.
    rig.relay.pass(.both)
    #expect(rig.waitForLink())
    let next = try rig.tunnel()
    next.client.send("again")
    #expect(next.daemon.receive(5) == "again")
  }

  @Test func `a quiet tunnel stays`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    #expect(rig.awaitSignsOfLife())
    client.send("a")
    #expect(daemon.receive(1) == "a")
    #expect(rig.linkings == 1)
  }

  @Test func `a link that closes ends its tunnels, tells its peer, and is not tried again`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    rig.link.close()
    #expect(client.receiveAll().isEmpty && daemon.receiveAll().isEmpty)
    #expect(eventually { rig.outcomes.items == [.ended("node a has closed the link")] })
    #expect(
      eventually { rig.notesOfB.items.last == .left(node: "a", reason: "the peer says: node a has closed the link") })
    #expect(rig.open().receiveAll().isEmpty)
    #expect(rig.outcomes.items.last == .refused("the link is closed") && rig.breaks.isEmpty)
  }

  @Test func `a listener that closes is told of, and the link goes on trying`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, _) = try rig.tunnel()
    rig.listener.close()
    #expect(client.receiveAll().isEmpty)
    #expect(eventually { rig.outcomes.items == [.ended("the peer says: node b stops listening")] })
    #expect(eventually { rig.breaks.count > 3 })
    #expect(rig.breaks[0].contains("the peer says: node b stops listening"))
  }

  @Test func `tunnels that are answered are over before a listener has waited for them`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    let answer = [UInt8](repeating: 1, count: 3 << 20)
    let sender = try Thread(name: "sender") {
      daemon.send(answer)
      daemon.close()
    }
    let reader = Journal<Int>()
    let thread = try Thread(name: "reader") { reader.add(client.receiveAll().count) }
    sender.join()
    rig.listener.stopAccepting()
    rig.listener.awaitTunnels(milliseconds: 30_000)
    rig.listener.close()
    thread.join()
    #expect(reader.items == [answer.count])
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

  @Test func `a tunnel of a kind that a later version has is refused with a reason, and nothing else ends`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    let later = LaterNode(Certificates.shared.identity("a"), limits: PeerRig.limits)
    later.open(on: rig.a, at: try #require(NodeAddress("127.0.0.1:\(rig.relay.port)")), kind: 200)
    #expect(
      eventually { later.ends.items == ["the peer says: node b has no use for a connection of this kind"] })
    client.send("still there")
    #expect(daemon.receive(11) == "still there")
    #expect(rig.link.isUp && rig.linkings == 1 && rig.clients.items.count == 1)
  }

  @Test func `a peer that says nothing is refused in time`() throws {
    var limits = PeerRig.limits
    limits.connectMilliseconds = 200
    let rig = try PeerRig(limits: limits)
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
    let link = PeerLink(on: rig.a, to: "b", at: try #require(NodeAddress("no-such-host.invalid:7433")), settings)
    #expect(eventually { notes.items.count > 1 })
    guard case .broken("b", let reason, _) = notes.items[0] else {
      Issue.record("\(notes.items)")
      return
    }
    #expect(reason.hasPrefix("no-such-host.invalid:7433: the host has no address: "))
    link.close()
  }
}

/// A node that opens a tunnel of a kind that this version does not know.
private final class LaterNode: ConnectionOwner, @unchecked Sendable {  // confined to the loop's thread, but for `ends`
  let ends = Journal<String>()
  private let settings: PeerSettings
  private var connection: PeerConnection?
  private var kind: UInt8 = 0

  init(_ identity: PeerIdentity, limits: PeerLimits) {
    settings = PeerSettings(name: "a", identity: identity, limits: limits)
  }

  func open(on loop: PeerLoop, at address: NodeAddress, kind: UInt8) {
    loop.post { [self] loop in
      self.kind = kind
      address.resolve(on: loop.events) { [self] addresses, _ in
        connection = try? PeerConnection.open(on: loop, settings, to: "b", at: addresses[0], owner: self)
      }
    }
  }

  func ready(_ connection: PeerConnection, peer: String) {
    let open = ByteBuffer()
    PeerFrame.writeOpen(ClientAccess(.lines), into: open)
    var bytes = Array(open.bytes)
    bytes[PeerFrame.headBytes] = kind
    connection.send { buffer in bytes.withView { buffer.append($0) } }
  }

  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool { true }

  func ended(_ connection: PeerConnection, reason: String) { ends.add(reason) }
}
