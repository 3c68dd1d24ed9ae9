import RuledCore
import Testing

@testable import RuledServing

@Suite struct WaitingRequestsTests {
  @Test func `owners take turns, and so do the clients of each`() {
    let waiting = WaitingRequests()
    func add(_ connection: UInt64, of owner: UInt32) {
      let target = ReplyTarget(.worker(0), connection: connection, isAdmin: false, owner: owner)
      Array("{}".utf8).withView { text in
        _ = waiting.add(text, to: target, subject: 0, isLine: false, after: LargeReplies())
      }
    }
    for connection in 1...100 { add(UInt64(connection), of: 1) }
    add(200, of: 2)
    var turns: [UInt64] = []
    for turn in 0..<6 {
      guard let queue = waiting.removeNext() else { break }
      turns.append(queue.client.connection)
      if turn < 4 { waiting.putBack(queue) }
    }
    #expect(turns == [1, 200, 2, 200, 3, 200])
    var left = 0
    while waiting.removeNext() != nil { left += 1 }
    #expect(left == 99 && waiting.isEmpty)
  }
}
