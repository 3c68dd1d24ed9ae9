import Glibc
import RuledCore
import RuledIO
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledPeers

/// What a tunnel that stands carries, and how much.
@Suite struct TunnelTests {
  @Test func `bytes pass both ways, and each way ends apart`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    client.send("one\n")
    #expect(daemon.receive(4) == "one\n")
    client.send("two")
    client.endWriting()
    #expect(daemon.receiveAll() == Array("two".utf8))
    daemon.send("answer")
    #expect(client.receive(6) == "answer")
    daemon.send("!")
    daemon.close()
    #expect(client.receiveAll() == Array("!".utf8))
    #expect(eventually { rig.outcomes.items == [.ended("the tunnel is over")] })
    #expect(rig.linkings == 1 && rig.breaks.isEmpty)
  }

  @Test(arguments: [
    ClientAccess(.lines), ClientAccess(.lines, isAdmin: true), ClientAccess(.web, isCourier: true),
    ClientAccess(.api),
    ClientAccess(.sites),
  ])
  func `the other node is told who the client is, and first gets the bytes read before`(client: ClientAccess) throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let near = rig.open(client, after: Array("GET ".utf8))
    near.send("/")
    #expect(eventually { rig.clients.items.count == 1 })
    var carried = client
    carried.node = "a"
    #expect(rig.clients.items[0].client == carried)
    #expect(rig.clients.items[0].socket.receive(5) == "GET /")
  }

  @Test func `the bytes of a client can't say who the client is`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    let frame = ByteBuffer()
    PeerFrame.writeOpen(ClientAccess(.lines, isAdmin: true), into: frame)
    client.send(Array(frame.bytes))
    #expect(Array(daemon.receive(frame.count).utf8) == Array(frame.bytes))
    #expect(rig.clients.items.count == 1 && rig.outcomes.items.isEmpty)
  }

  @Test func `a client that has gone ends its tunnel, after all that it sent`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    client.send("last words")
    client.close()
    #expect(daemon.receiveAll() == Array("last words".utf8))
    daemon.send("to nobody")
    daemon.close()
    #expect(eventually { rig.outcomes.items.count == 1 })
    #expect(rig.linkings == 1)
  }

  @Test(arguments: [true, false])
  func `the last words of an end that closes without having read all arrive`(isDaemon: Bool) throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    let (closing, other) = isDaemon ? (daemon, client) : (client, daemon)
    other.send("read\n")
    #expect(closing.receive(5) == "read\n")
    other.send([UInt8](repeating: 1, count: 900_000))  // more than a socket takes: a write is under way
    #expect(closing.receive() != nil)
    closing.send("last words")
    closing.close()
    #expect(other.receiveAll() == Array("last words".utf8))
    other.close()
    #expect(eventually { rig.outcomes.items.count == 1 })
  }

  @Test func `the last words reach a client that reads late and ends its side in between`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    let words = [UInt8](repeating: 1, count: 900_000)  // more than the client's socket takes, less than a tunnel holds
    daemon.send(words)
    daemon.close()
    #expect(eventually { rig.notesOfB.items.contains { if case .left = $0 { true } else { false } } })
    client.endWriting()
    #expect(rig.awaitTurn(), "the node notices the end of the client's side")
    #expect(client.receiveAll().count == words.count)
    #expect(eventually { rig.outcomes.items.count == 1 })
  }

  @Test func `the last words of a daemon that closes arrive while the client still sends`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    for round in 0..<60 {
      let (client, daemon) = try rig.tunnel()
      let writer = try Thread(name: "writer") {
        let piece = [UInt8](repeating: 1, count: 2000)
        for _ in 0..<20_000 { if client.sendNow(piece[...]) == 0, errno != EAGAIN { break } }
      }
      for _ in 0..<(1 + round % 7) { _ = daemon.receive() }
      daemon.send([UInt8](repeating: 7, count: 5000))
      daemon.close()
      #expect(client.receiveAll().count == 5000)
      client.close()
      writer.join()
    }
  }

  @Test func `the last words arrive over a slow network`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    rig.relay.slowDown()
    let words = [UInt8](repeating: 1, count: 400_000)
    client.send(words)
    daemon.send(words)
    daemon.close()
    // As the network goes, that takes twice the time after which a silent peer is given up.
    #expect(client.receiveAll().count == words.count)
    client.close()
    #expect(eventually { rig.outcomes.items.count == 1 })
  }

  @Test func `a client that has gone is told of to a daemon that only sends`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    client.close()
    #expect(daemon.receiveAll().isEmpty)
    let event = [UInt8](repeating: 0, count: 10_000)
    #expect(eventually { daemon.sendNow(event[...]) == 0 && errno == EPIPE })
  }

  @Test func `a node that takes no tunnels says so`() throws {
    let rig = try PeerRig(refusal: "not here")
    #expect(rig.waitForLink())
    #expect(rig.open().receiveAll().isEmpty)
    #expect(eventually { !rig.outcomes.items.isEmpty })
    #expect(rig.outcomes.items == [.ended("the peer says: not here")])
    #expect(rig.link.isUp)
  }

  @Test func `tunnels are apart`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let tunnels = try (0..<20).map { _ in try rig.tunnel() }
    for (index, tunnel) in tunnels.enumerated() { tunnel.client.send("from \(index)") }
    for (index, tunnel) in tunnels.enumerated().reversed() {
      #expect(tunnel.daemon.receive("from \(index)".utf8.count) == "from \(index)")
      tunnel.daemon.close()
      #expect(tunnel.client.receiveAll().isEmpty)
    }
    #expect(eventually { rig.outcomes.items.count == 20 })
  }

  @Test func `much passes whole, both ways at once`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    var random = SeededRandom(seed: 9)
    let there = (0..<2 << 20).map { _ in UInt8.random(in: 0...255, using: &random) }
    let back = Array(there.reversed())
    let sender = try Thread(name: "sender") {
      client.send(there)
      client.endWriting()
    }
    let answerer = try Thread(name: "answerer") {
      daemon.send(back)
      daemon.endWriting()
    }
    let received = Journal<[UInt8]>()
    let reader = try Thread(name: "reader") { received.add(daemon.receiveAll()) }
    let answer = client.receiveAll()
    #expect(answer.count == back.count)
    let isWhole = answer == back  // by itself, so that a failure doesn't print 4 MB
    #expect(isWhole)
    // Behind the daemon's end nobody waits for what the client still sends.
    for thread in [sender, answerer, reader] { thread.join() }
    let isBeginning = there.starts(with: received.items[0])
    #expect(isBeginning)
    #expect(eventually { rig.outcomes.items.count == 1 })
    #expect(rig.outcomes.items == [.ended("the tunnel is over")])
    #expect(rig.breaks.isEmpty)
  }

  @Test(arguments: [true, false])
  func `a slow reader slows the sender down, misses nothing, and stops nothing else`(isDaemon: Bool) throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    let (client, daemon) = try rig.tunnel()
    let (sender, reader) = isDaemon ? (client, daemon) : (daemon, client)
    let chunk = [UInt8](repeating: 7, count: 64 << 10)
    var sent = 0
    let staysFull = rig.awaitSignsOfLife {
      let count = sender.sendNow(chunk[...])
      sent += count
      return count == 0
    }
    #expect(staysFull)
    #expect(sent < 4 << 20, "so much waits in buffers")
    reader.send("still here")
    #expect(sender.receive(10) == "still here")
    sender.endWriting()
    #expect(reader.receiveAll().count == sent)
    #expect(rig.breaks.isEmpty)
  }
}
