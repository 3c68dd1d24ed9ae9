import RuledEngine
import Testing

@testable import RuledReplay

/// Erasures while so many messages wait that walking over all of them for each erasure would exceed a test's limit.
@Suite struct WaitingMessagesTests {
  private static func message(to receiver: String, _ sequence: Int) -> (CommitBatch.Message, MessageText) {
    let key = RecordedHistory.key(ofMessageTo: receiver, from: "author", type: "told", time: "\(sequence)")
    let pair = MessageText.Pair(sender: "author".nameHash, receiver: receiver.nameHash)
    return (
      CommitBatch.Message(subject: Array(receiver.utf8), sequence: UInt64(sequence)),
      MessageText(key: key, pair: pair, id: "\(sequence)", from: "author", time: 0, mayPublish: nil)
    )
  }

  @Test func `an erasure concerns the messages that wait for its subject by then, and no other`() {
    let size = 50_000
    var waiting = WaitingMessages()
    let messages = (0..<size).map { Self.message(to: "user:\($0)", $0) }
    for (message, text) in messages { waiting.add(message, text) }
    for n in 0..<size where n % 4 > 0 {
      if n % 4 < 3 { waiting.erase("user:\(n)") }
      if n % 4 > 1 { waiting.keep("user:\(n)") }
    }
    #expect((0..<4).map { waiting.count(of: messages[$0].1.key) } == [1, 0, 1, 1])
    let (later, text) = Self.message(to: "user:1", size)
    waiting.add(later, text)
    #expect(waiting.count(of: text.key) == 1)
    let taken = messages.map { waiting.take($0.1) { _ in false }?.isKept }
    #expect(taken == (0..<size).map { $0 % 4 > 1 })
    #expect(waiting.take(text) { _ in false }?.isKept == false)
  }
}
