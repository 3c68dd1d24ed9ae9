import TestSupport
import Testing

@testable import RuledEngine

@Suite struct HashFilterTests {
  @Test(arguments: [0, 1, 16, 32, 128])
  func `an added subject is found, and few others are`(count: Int) {
    var random = SeededRandom(seed: UInt64(count) + 1)
    var filter = HashFilter()
    let hashes = (0..<count).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
    for hash in hashes { filter.insert(hash) }
    #expect(hashes.allSatisfy(filter.mayContain))
    let others = (0..<2000).filter { _ in filter.mayContain(.random(in: 0 ... .max, using: &random)) }
    #expect(others.count <= 2000 * count / 256)
  }
}
