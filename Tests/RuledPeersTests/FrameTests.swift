import RuledCore
import TestSupport
import Testing

@testable import RuledPeers

@Suite struct FrameTests {
  @Test func `a batch has its requests, also after a frame`() throws {
    let batch = PeerBatch()
    for text in ["a", "", "{\"x\":1}"] { text.withView { batch.append($0) } }
    let buffer = ByteBuffer()
    PeerFrame.writeRequests(number: 7, batch, into: buffer)
    #expect(PeerFrame.length(buffer.bytes) == buffer.count)
    guard case .requests(7, let read) = PeerFrame(buffer.bytes) else {
      Issue.record("no batch was read")
      return
    }
    #expect((0..<read.count).map { String(decoding: read[$0], as: UTF8.self) } == ["a", "", "{\"x\":1}"])
    #expect(read.byteCount == batch.byteCount)
  }

  @Test func `bytes that are no frame are refused, and none reads beyond its end`() {
    var random = SeededRandom(seed: 18)
    let frame = ByteBuffer()
    let batch = PeerBatch()
    "abc".withView { batch.append($0) }
    PeerFrame.writeRequests(number: 1, batch, into: frame)
    PeerFrame.writeAnswer(number: 1, index: 0, .answered, ByteView("abc"), into: frame)
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

  @Test(arguments: ["10.0.0.5:7433", "db1:7433", "[fd00::5]:7433"])
  func `an address is written as it was read`(text: String) throws {
    #expect(try PeerAddress(text).description == text)
  }

  @Test(arguments: ["", "db1", "db1:", ":7433", "db1:70000", "fd00::5:7433", "[]:1"])
  func `what is no address is refused with an example`(text: String) {
    let error = #expect(throws: PeerError.self) { try PeerAddress(text) }
    #expect(error?.description.contains("10.0.0.5:7433") == true)
  }
}
