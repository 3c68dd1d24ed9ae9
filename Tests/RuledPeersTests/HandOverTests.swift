import Glibc
import RuledCore
import TestSupport
import Testing

@testable import RuledPeers

/// Connections that leave the loop: what their two ends carry.
@Suite struct HandOverTests {
  @Test func `both ends get a socket, which carries bytes both ways`() throws {
    let rig = try PeerRig()
    let (near, far) = try rig.ends()
    #expect(write("one", to: near) && read(3, from: far) == "one")
    #expect(write("two", to: far) && read(3, from: near) == "two")
    #expect(rig.linkings == 1 && rig.breaks.isEmpty)
  }

  @Test func `what is sent at once comes with or behind the connection`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    for number in 0..<20 {
      let results = rig.handOver()
      #expect(eventually { results.items.count == 1 })
      let near = try #require(results.items.first).get()
      #expect(write("frame \(number)", to: near))
      #expect(eventually { rig.handedOver.items.count == number + 1 })
      let far = rig.handedOver.items[number]
      #expect(read("frame \(number)".utf8.count, from: far) == "frame \(number)")
    }
  }

  @Test func `many bytes pass, though the peer reads late`() throws {
    let rig = try PeerRig()
    let (near, far) = try rig.ends()
    let bytes = ByteBuffer()
    for number in 0..<3_000_000 { bytes.append(bigEndian: UInt32(truncatingIfNeeded: number &* 2_654_435_761)) }
    let received = ByteBuffer()
    var (sent, waits) = (0, 0)
    while received.count < bytes.count {
      if sent < bytes.count {
        switch near.send(bytes.bytes.extracting(sent..<bytes.count)) {
        case .moved(let count): sent += count
        case .wouldBlock: waits += 1
        case let other: return _ = Issue.record("\(other)")
        }
      } else if near.hasUnsent {
        _ = near.flush()
      }
      guard near.hasUnsent || sent == bytes.count else { continue }
      switch far.receive(into: received) {
      case .moved, .wouldBlock: break
      case let other: return _ = Issue.record("\(other)")
      }
    }
    #expect(waits > 0)
    #expect(ByteOrder.equal(received.bytes, bytes.bytes))
  }

  @Test func `the last bytes come before the end, though some were not read there`() throws {
    let rig = try PeerRig()
    let (near, far) = try rig.ends()
    #expect(write("not read", to: near))
    usleep(50_000)
    #expect(write("last words", to: far))
    far.close()
    #expect(read(10, from: near) == "last words")
    let rest = ByteBuffer()
    #expect(eventually { near.receive(into: rest) == .ended })
  }

  @Test func `a peer that has gone is noticed`() throws {
    let rig = try PeerRig()
    let (near, _) = try rig.ends()
    rig.relay.reset()
    let rest = ByteBuffer()
    #expect(
      eventually {
        switch near.receive(into: rest) {
        case .ended, .failed: true
        case .moved, .wouldBlock: false
        }
      })
  }

  @Test func `who refuses says why`() throws {
    let rig = try PeerRig(refusal: "it lends nothing")
    #expect(rig.waitForLink())
    #expect(reason(rig) == "the peer says: it lends nothing")
  }

  @Test func `a node with an earlier version is told to be upgraded, whichever it is`() throws {
    let old = try PeerRig(versionsOfB: 1...1)
    #expect(old.waitForLink())
    #expect(reason(old) == "node b has an earlier version; upgrade it")
    let new = try PeerRig(versionsOfA: 1...1)
    #expect(new.waitForLink())
    _ = new.open(PeerClient(.share))  // as earlier versions ask for it
    let refusal = "the peer says: node b has a later version; upgrade this one"
    #expect(eventually { new.outcomes.items == [.ended(refusal)] })
    #expect(new.handedOver.items.isEmpty)
    let (client, daemon) = try new.tunnel()
    client.send("x")
    #expect(daemon.receive(1) == "x")
  }

  @Test func `a link that is closed hands nothing over`() throws {
    let rig = try PeerRig()
    #expect(rig.waitForLink())
    rig.link.close()
    #expect(eventually { !rig.link.isUp })
    #expect(reason(rig) == "the link is closed")
  }

  private func reason(_ rig: PeerRig) -> String? {
    let results = rig.handOver()
    guard eventually({ results.items.count == 1 }), case .failure(let refusal) = results.items[0] else { return nil }
    return refusal.reason
  }

  private func write(_ text: String, to socket: PeerSocket) -> Bool {
    Array(text.utf8).withView { socket.send($0) } == .moved(text.utf8.count) && socket.flush() == .moved(0)
  }

  private func read(_ count: Int, from socket: PeerSocket) -> String {
    let bytes = ByteBuffer()
    _ = eventually {
      while case .moved = socket.receive(into: bytes) {}
      return bytes.count >= count
    }
    return String(decoding: bytes.bytes, as: UTF8.self)
  }
}

extension PeerRig {
  /// Both ends of a connection that was handed over.
  fileprivate func ends() throws -> (near: PeerSocket, far: PeerSocket) {
    #expect(waitForLink())
    let results = handOver()
    #expect(eventually { results.items.count == 1 && handedOver.items.count == 1 })
    return (try #require(results.items.first).get(), try #require(handedOver.items.first))
  }
}
