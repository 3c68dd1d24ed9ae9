import RuledCore
import Testing

@testable import RuledServing

@Suite struct AwaitedRepliesTests {
  private static func reply(_ connection: UInt64, _ count: Int) -> AwaitedReplies.Reply {
    (ReplyTarget(.worker(0), connection: connection, isAdmin: false), [UInt8](repeating: 0x20, count: count))
  }

  @Test func `a connection's replies that wait for cascades are bounded, and so are all together`() {
    var replies = AwaitedReplies()
    let half = Limits.cascadeBytes / 2
    let added = [1, 2].map { replies.add(Self.reply(0, half), for: $0) } + [replies.add(Self.reply(0, 1), for: 3)]
    #expect(added == [true, true, false])
    let removed = [1, 1].map { replies.remove($0)?.bytes.count }
    #expect(removed == [half, nil])
    let isAdded = replies.add(Self.reply(0, half), for: 4)
    #expect(isAdded)
    var connections: UInt64 = 1
    while replies.add(Self.reply(connections, Limits.cascadeBytes), for: 10 + connections) { connections += 1 }
    #expect(connections == 64)
    for key in replies.keys { _ = replies.remove(key) }
    #expect(replies.isEmpty)
    let hasRoom = replies.add(Self.reply(0, 2 * half), for: 1)
    #expect(hasRoom)
  }
}
