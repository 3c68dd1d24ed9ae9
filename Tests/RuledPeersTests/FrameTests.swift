import RuledCore
import RuledIO
import TestSupport
import Testing

@testable import RuledPeers

@Suite struct FrameTests {
  @Test func `a frame is read as it was written`() throws {
    func read(_ write: (ByteBuffer) -> Void) -> (PeerFrame?, ByteBuffer) {
      let buffer = ByteBuffer()
      write(buffer)
      #expect(PeerFrame.length(buffer.bytes) == buffer.count)
      return (PeerFrame(buffer.bytes), buffer)
    }
    for listener in [ClientAccess.Listener.lines, .web, .api, .sites] {
      for (isAdmin, isCourier) in [(false, false), (true, false), (false, true), (true, true)] {
        let client = ClientAccess(listener, isAdmin: isAdmin, isCourier: isCourier)
        guard case .open(client?) = read({ PeerFrame.writeOpen(client, into: $0) }).0 else {
          Issue.record("\(client) was not read")
          return
        }
      }
    }
    let (data, buffer) = read { PeerFrame.writeData(ByteView("abc"), into: $0) }
    guard case .data(let bytes) = data, case .room(1 << 20) = read({ PeerFrame.writeRoom(1 << 20, into: $0) }).0,
      case .end = read(PeerFrame.writeEnd).0
    else {
      Issue.record("\(String(describing: data))")
      return
    }
    #expect(ByteOrder.equal(bytes, ByteView("abc")))
    withExtendedLifetime(buffer) {}
  }

  @Test(arguments: [[0, 4], [0], [0, 0, 0]] as [[UInt8]])
  func `a client with unknown rights is refused`(body: [UInt8]) {
    let bytes = [0, 0, 0, UInt8(body.count + 1), 2] + body
    bytes.withView { #expect(PeerFrame($0) == nil) }
  }

  @Test func `a client of an unknown kind is read as such`() {
    [0, 0, 0, 3, 2, 4, 0].withView { bytes in
      guard case .open(nil) = PeerFrame(bytes) else {
        Issue.record("it was not read")
        return
      }
    }
  }

  @Test func `bytes that are no frame are refused, and none reads beyond its end`() {
    var random = SeededRandom(seed: 18)
    let frame = ByteBuffer()
    PeerFrame.writeOpen(ClientAccess(.web), into: frame)
    PeerFrame.writeData(ByteView("abc"), into: frame)
    PeerFrame.writeRoom(1, into: frame)
    PeerFrame.writeHello(name: "a", into: frame)
    var refused = 0
    for _ in 0..<20_000 {
      var bytes = Array(frame.bytes)
      bytes.removeFirst(Int.random(in: 0..<bytes.count, using: &random))
      bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
      for _ in 0..<3 where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      bytes.withUnsafeBytes { if PeerFrame(ByteView($0)) == nil { refused += 1 } }
    }
    #expect(refused > 10_000)
  }
}
