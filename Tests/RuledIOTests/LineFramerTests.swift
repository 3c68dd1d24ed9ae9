import TestSupport
import Testing

@testable import RuledIO

@Suite struct LineFramerTests {
  /// What a framer of lines up to `limit` makes of `text` cut at the places that `step` gives.
  private func frame(_ text: [UInt8], limit: Int, step: () -> Int) -> [[UInt8]?] {
    let framer = LineFramer(limit: limit, memory: MemoryBudget(1 << 30))
    var items: [[UInt8]?] = []
    func take(_ item: LineFramer.Item) {
      switch item {
      case .line(let line): items.append(Array(line))
      case .skipped: items.append(nil)
      }
    }
    var rest = text[...]
    while !rest.isEmpty {
      rest = framer.fill { room in
        let part = rest.prefix(min(max(1, step()), room.capacity))
        for byte in part { room.append(byte) }
        return rest.dropFirst(part.count)
      }
      while let item = framer.cutLine() { take(item) }
    }
    if let item = framer.lastLine() { take(item) }
    #expect(framer.isEmpty)
    #expect(framer.capacity <= limit + 2 * LineFramer.readBytes)
    return items
  }

  @Test(arguments: 0..<20)
  func `lines are the same however the stream is cut`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let limit = [10, 100, 100_000].randomElement(using: &random) ?? 10
    var text: [UInt8] = []
    var expected: [[UInt8]?] = []
    for _ in 0..<40 {
      let kind = Int.random(in: 0..<10, using: &random)
      let length =
        kind == 0 ? limit + Int.random(in: 1...(2 * limit), using: &random) : Int.random(in: 0...limit, using: &random)
      let line =
        kind == 1 ? [UInt8](repeating: 0x20, count: min(length, 9)) : [UInt8](repeating: 0x78, count: length)
      text += line + [10]
      if line.count > limit {
        expected.append(nil)
      } else if line.contains(0x78) {
        expected.append(line)
      }
    }
    let last = [UInt8](repeating: 0x79, count: Int.random(in: 0...limit, using: &random))
    text += last
    if !last.isEmpty { expected.append(last) }
    let largest = [max(1, limit / 100), 50 + limit / 100, 200_000].randomElement(using: &random) ?? 1
    #expect(frame(text, limit: limit) { Int.random(in: 1...largest, using: &random) } == expected)
  }
}
