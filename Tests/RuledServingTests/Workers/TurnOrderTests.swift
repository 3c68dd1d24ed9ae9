import Testing

@testable import RuledServing

@Suite struct TurnOrderTests {
  @Test func `owners take turns, and so do the clients of each`() {
    var order = TurnOrder<Int>()
    for client in 1...100 { order.append(client, of: 1) }
    order.append(200, of: 2)
    var turns: [Int] = []
    for turn in 0..<6 {
      guard let client = order.removeNext() else { break }
      turns.append(client)
      if turn < 4 { order.append(client, of: client == 200 ? 2 : 1) }
    }
    #expect(turns == [1, 200, 2, 200, 3, 200])
    var left = 0
    while order.removeNext() != nil { left += 1 }
    #expect(left == 99 && order.isEmpty)
  }
}
