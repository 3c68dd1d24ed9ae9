import RuledCore
import RuledEngine
import TestSupport
import Testing

@testable import RuledServer

@Suite struct FrameCodingTests {
  @Test func `a frame says what was written`() {
    let frames = RandomFrames(seed: 42)
    var kinds: Set<UInt8> = []
    for _ in 0..<2_000 {
      let frame = frames.next()
      let buffer = ByteBuffer()
      frame.write(into: buffer)
      #expect(ShareFrame.length(buffer.bytes) == buffer.count)
      guard let read = ShareFrame(buffer.bytes, senders: frames.senders) else {
        Issue.record("not read: \(frame.content)")
        return
      }
      #expect(read.content == frame.content)
      kinds.insert(frame.kind.rawValue)
      withExtendedLifetime(buffer) {}
    }
    #expect(kinds.count == 26)
  }

  @Test func `a submission is read with the senders of the engine, and into a batch of its own`() throws {
    let senders = MessageSenders()
    let batch = CommitBatch(number: 1)
    batch.writes.put(ByteView("key"), ByteView("value"))
    batch.messages.append(CommitBatch.Message(subject: [1], sequence: 2, sender: senders["greeter"]))
    let buffer = ByteBuffer()
    ShareFrame.submit(round: 3, [SharedSubmission(batch: batch, cascades: [9])]).write(into: buffer)
    guard case .submit(3, let submissions)? = ShareFrame(buffer.bytes, senders: senders) else {
      Issue.record("not read")
      return
    }
    buffer.removeAll()
    let read = try #require(submissions.first)
    #expect(read.batch.messages.first?.sender === senders["greeter"])
    #expect(read.cascades == [9])
    guard case .value(let value) = read.batch.writes.lookup(ByteView("key")) else {
      Issue.record("the write is missing")
      return
    }
    #expect(Array(value) == Array("value".utf8))
  }

  @Test func `bytes that are no frame are refused, and none reads beyond its end`() {
    let frames = RandomFrames(seed: 7)
    var refused = 0
    for _ in 0..<5_000 {
      let buffer = ByteBuffer()
      frames.next().write(into: buffer)
      var bytes = Array(buffer.bytes)
      frames.damage(&bytes)
      let isFrame = bytes.withUnsafeBytes { memory in
        ShareFrame(ByteView(memory), senders: frames.senders).map { _ = $0.content } != nil
      }
      if !isFrame { refused += 1 }
    }
    #expect(refused > 2_500)
  }

  @Test func `random bytes are no frame, whatever their kind`() {
    let frames = RandomFrames(seed: 8)
    for _ in 0..<20_000 {
      let count = frames.below(64)
      var bytes = (0..<count).map { _ in frames.below(4) == 0 ? UInt8(frames.below(256)) : 0 }
      bytes = [0, 0, 0, UInt8(count + 1), UInt8(frames.below(40))] + bytes
      bytes.withUnsafeBytes { _ = ShareFrame(ByteView($0), senders: frames.senders)?.content }
    }
  }

  @Test func `a node that writes another format is told so`() {
    let buffer = ByteBuffer()
    ShareFrame.join(ShareJoin(node: "b", incarnation: "1", revision: "r")).write(into: buffer)
    var bytes = Array(buffer.bytes)
    bytes[5] = 9
    bytes.withUnsafeBytes { memory in
      #expect(ShareFrame(ByteView(memory), senders: MessageSenders()) == nil)
      #expect(ShareFrame.refusal(of: ByteView(memory)).contains("format 9"))
    }
  }
}
