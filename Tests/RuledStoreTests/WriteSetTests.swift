import TestSupport
import Testing

@testable import RuledStore

/// The writes of a commit.
struct WriteSetTests {
  @Test(arguments: UInt64(1)...50)
  func `a lookup of a key gives the value that a store has after the commit`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var model = ModelStore()
    let set = WriteSet()
    model.write(set, using: &random)
    model.write(set, using: &random)
    for _ in 0..<50 {
      let key = random.key()
      let expected = model.values[key].map { "value \($0)" }
      let found = set.found(key)
      #expect(expected.map { $0 == found } ?? (found == "absent" || found == "deleted"))
    }
  }

  @Test(arguments: UInt64(1)...30)
  func `a lookup among many writes follows additions and truncations`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let set = WriteSet()
    var marks: [(mark: WriteSet.Mark, model: ModelStore)] = []
    var model = ModelStore()
    for _ in 0..<200 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0: marks.append((set.mark, model))
      case 1:
        guard let last = marks.popLast() else { break }
        set.truncate(to: last.mark)
        model = last.model
      case 2 where Int.random(in: 0..<8, using: &random) == 0:
        set.removeAll()
        model = ModelStore()
        marks.removeAll()
      default: model.write(set, using: &random)
      }
      let key = random.key()
      let found = set.found(key)
      #expect(model.values[key].map { "value \($0)" == found } ?? (found == "absent" || found == "deleted"))
    }
  }

  @Test func `a mark takes back the writes of a failed plugin`() {
    let set = WriteSet(capacity: 1)
    set.put([1], [10])
    let mark = set.mark
    let before = set.byteCount
    set.put([1], [11])
    set.delete([2])
    #expect(set.found([1]) == "value [11]")
    #expect(set.found([2]) == "deleted")
    set.truncate(to: mark)
    #expect(set.found([1]) == "value [10]")
    #expect(set.found([2]) == "absent")
    #expect(set.count == 1 && set.byteCount == before)
  }

  @Test func `the end of a value is set later`() {
    let set = WriteSet(capacity: 1)
    set.put([1], [10])
    let start = set.byteCount
    set.put([2], [3] + Array(repeating: 9, count: 8))
    set.delete([4])
    set.setEnd(ofWriteAt: start, to: 258)
    #expect(set.found([2]) == "value [3, 0, 0, 0, 0, 0, 0, 1, 2]" && set.found([1]) == "value [10]")
    guard case .put(let key, _)? = set.write(at: start) else { return #expect(Bool(false)) }
    #expect(Array(key) == [2])
  }

  @Test func `writes are read back in order from a mark on`() {
    let set = WriteSet()
    set.put([1], Array(repeating: 7, count: 20_000))
    let mark = set.mark
    set.delete([2])
    set.put([], [])
    var seen: [String] = []
    set.forEach(from: mark) { operation in
      switch operation {
      case .put(let key, let value): seen.append("put \(Array(key)) \(Array(value))")
      case .delete(let key): seen.append("delete \(Array(key))")
      case .journal(let head, _): seen.append("journal \(Array(head))")
      }
    }
    #expect(seen == ["delete [2]", "put [] []"])
  }

  @Test func `records for the journal are in the order of the writes, and no look-up finds them`() {
    let set = WriteSet()
    func journal(_ text: [UInt8]) { text.withView { set.journal($0, $0) } }
    for number in 0..<100 as Range<UInt8> {
      set.put([number], [number])
      journal([number])
    }
    let mark = set.mark
    journal([])
    set.truncate(to: mark)
    for number in 0..<100 as Range<UInt8> {
      guard case .value(let value) = [number].withView({ set.lookup($0) }) else {
        Issue.record("\(number) is absent")
        continue
      }
      #expect(Array(value) == [number])
    }
    guard case .absent = [UInt8]().withView({ set.lookup($0) }) else {
      Issue.record("a record for the journal was found")
      return
    }
    var journalled: [UInt8] = []
    set.forEach {
      if case .journal(let head, let text) = $0 { journalled += head.elementsEqual(text) ? Array(text) : [] }
    }
    #expect(journalled == Array(0..<100))
  }
}
