import RuledCore
import RuledStore
import TestSupport
import Testing

@Suite struct IdempotencyTests {
  private static let counting = "rule 'n' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 decide('n', s.n) end }"

  @Test func `a repeat gives the first outcome again and runs nothing`() throws {
    let engine = try Engine(["p": Self.counting])
    let first = try engine.send("a", [:], ["id": "1"])
    let second = try engine.send("a", [:], ["id": "1"])
    #expect(first["duplicate"] == false)
    #expect(second["duplicate"] == true)
    #expect(second["decisions"] == first["decisions"])
    #expect(second["version"] == first["version"])
    #expect(try engine.state("p")?["n"] == 1)
  }

  @Test(arguments: [17, 100, 145, 400])
  func `far more ids than a record holds are remembered`(count: Int) throws {
    let engine = try Engine(["p": Self.counting])
    for id in 0..<count { try engine.send("a", [:], ["id": .string("\(id)")]) }
    for id in 0..<count {
      let outcome = try engine.send("a", [:], ["id": .string("\(id)")])
      #expect(outcome["duplicate"] == true)
      #expect(outcome["decisions"]?["p"]?["n"] == .integer(Int64(id + 1)))
    }
    #expect(try engine.state("p")?["n"] == .integer(Int64(count)))
  }

  @Test func `an id is forgotten when the window is over`() throws {
    let engine = try Engine(["p": Self.counting])
    for id in 0..<20 { try engine.send("a", [:], ["id": .string("\(id)")]) }
    try engine.local.advance(microseconds: Limits.dedupWindow - Limits.second)
    #expect(try engine.send("a", [:], ["id": "0"])["duplicate"] == true)
    #expect(try engine.send("a", [:], ["id": "19"])["duplicate"] == true)
    try engine.local.advance(microseconds: 2 * Limits.second)
    #expect(try engine.send("a", [:], ["id": "0"])["duplicate"] == false)
    #expect(try engine.send("a", [:], ["id": "19"])["duplicate"] == false)
    #expect(try engine.state("p")?["n"] == 22)
  }

  /// Against a model: repeats, new events, time that passes, restarts, with everything hot or nothing.
  @Test(arguments: UInt64(1)...16)
  func `every id is remembered as long as the window`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var configuration = Configuration()
    if seed.isMultiple(of: 2) { configuration.limits.cacheMiB = 0 }
    var engine = try Engine(["p": Self.counting], configuration: configuration)
    var expiries: [Int: Int64] = [:]
    var ids = 0
    for _ in 0..<700 {
      switch Int.random(in: 0..<60, using: &random) {
      case 0: try engine.local.advance(microseconds: .random(in: 0...Limits.dedupWindow / 4, using: &random))
      case 1:
        engine = try Engine(
          ["p": Self.counting], store: engine.store, start: engine.local.now, configuration: configuration)
      default:
        let isNew = ids == 0 || Bool.random(using: &random)
        if isNew { ids += 1 }
        let id = isNew ? ids : Int.random(in: 1...ids, using: &random)
        let now = engine.local.now.microseconds
        let isRepeat = expiries[id].map { $0 >= now } ?? false
        let outcome = try engine.send("a", [:], ["id": .string("\(id)")])
        #expect(outcome["duplicate"] == .bool(isRepeat), "event \(id) of \(ids)")
        if !isRepeat { expiries[id] = now + Limits.dedupWindow }
      }
    }
  }

  @Test func `earlier events are one entry until there are too many`() throws {
    let engine = try Engine(["p": Self.counting])
    func entries(_ kind: StoreKey.Kind) throws -> Int { try engine.stored(kind).count }
    for id in 0..<145 { try engine.send("a", [:], ["id": .string("\(id)")]) }
    #expect(try entries(.earlierEvents) == 1 && entries(.outcomeIndex) == 16)
    try engine.local.advance(microseconds: Limits.dedupWindow + Limits.second)
    for id in 0..<17 { try engine.send("a", [:], ["id": .string("\(id)")]) }
    #expect(try engine.send("a", [:], ["id": "3"])["duplicate"] == true)
  }

  @Test func `nothing of a subject is remembered once it is forgotten`() throws {
    let engine = try Engine(["p": Self.counting])
    for id in 0..<200 { try engine.send("a", [:], ["id": .string("\(id)")]) }
    let forgotten = try Array("user:1".utf8).withView { try engine.local.evaluator.forget($0) }
    try engine.local.runUntilIdle()
    #expect(forgotten["forgotten"]?["events"] == 200)
    for kind in [StoreKey.Kind.record, .outcome, .earlierEvents, .outcomeIndex] {
      #expect(try engine.stored(kind).isEmpty)
    }
    for id in 0..<40 { #expect(try engine.send("a", [:], ["id": .string("\(id)")])["duplicate"] == false) }
    for id in 0..<40 { #expect(try engine.send("a", [:], ["id": .string("\(id)")])["duplicate"] == true) }
  }

  @Test func `another source or subject makes it another event`() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", [:], ["id": "1", "source": "x"])
    #expect(try engine.send("a", [:], ["id": "1", "source": "y"])["duplicate"] == false)
    #expect(try engine.send("a", [:], to: "user:2", ["id": "1", "source": "x"])["duplicate"] == false)
    #expect(try engine.send("a", [:], ["id": "1", "source": "x"])["duplicate"] == true)
  }

  /// A repeat gets all of the first outcome, and so does who exports the subject, whether its key has the id or a digest.
  @Test(arguments: ["1", "a \"quoted\" id", String(repeating: "x", count: 256)])
  func `all of an outcome is remembered`(id: String) throws {
    let engine = try Engine([
      "bad": "rule 'f' { on = '*', run = function() error('no') end }",
      "p": "rule 'n' { on = '*', run = function(e) decide('n', { 1, 'two' }) emit('mail', 'hello', { n = 1 }) end }",
    ])
    let first = try engine.send("a", [:], ["id": .string(id)])
    #expect(first["failures"]?.arrayValue?.count == 1 && first["effects"]?.arrayValue?.count == 1)
    guard case .object(var repeated) = first else { return }
    repeated["duplicate"] = true
    #expect(try engine.send("a", [:], ["id": .string(id)]) == .object(repeated))
    let exported = try Array("user:1".utf8).withView { try engine.local.evaluator.export($0) }
    #expect(exported["events"] == [first])
  }

  @Test func `a repeat with another type or other data says so, and one that is written otherwise does not`() throws {
    let engine = try Engine(["p": Self.counting])
    for id in ["1", String(repeating: "x", count: 256)] {
      let more: JSONObject = ["id": .string(id)]
      let first = try engine.send("a", ["n": 1, "name": "Zoë"], more)
      #expect(first["differs"] == nil)
      for data in [["name": "Zoë", "n": 1.0], ["n": 1, "name": "Zoë", "none": .null]] as [JSONValue] {
        let same = try engine.send("a", data, more)
        #expect(same["duplicate"] == true && same["differs"] == nil)
      }
      #expect(
        try engine.send("a", ["n": 1, "name": "Zoë"], more.adding("time", "2020-01-01T00:00:00Z"))["differs"] == nil)
      for (type, data) in [("a", ["n": 2, "name": "Zoë"]), ("b", ["n": 1, "name": "Zoë"]), ("a", [:])]
        as [(String, JSONValue)]
      {
        let other = try engine.send(type, data, more)
        #expect(other["duplicate"] == true && other["differs"] == true)
        #expect(other["decisions"] == first["decisions"])
      }
    }
    #expect(engine.local.evaluator.duplicates == 12 && engine.local.evaluator.differences == 6)
    for data in [[:], .null] as [JSONValue] { try engine.send("c", data, ["id": "2"]) }
    let coded: JSONObject = ["id": "3", "data_base64": "AQ==", "tag": "x"]
    try engine.send("d", .null, coded)
    #expect(try engine.send("d", .null, coded)["differs"] == nil)
    #expect(try engine.send("d", .null, coded.adding("data_base64", "Ag=="))["differs"] == true)
    #expect(try engine.send("d", "AQ==", ["id": "3"])["differs"] == true, "bytes are not the text that stands for them")
    #expect(engine.local.evaluator.differences == 8)
  }

  @Test func `an outcome that an older build remembered is compared with nothing`() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", ["n": 1], ["id": "1"])
    let writes = WriteSet()
    for entry in try engine.local.contents() where entry.key.first == StoreKey.Kind.outcome.rawValue {
      entry.key.withView { key in Array(entry.value.dropLast(8)).withView { writes.put(key, $0) } }
    }
    try engine.store.commit(writes, durable: true)
    let again = try Engine(["p": Self.counting], store: engine.store)
    let repeated = try again.send("a", ["n": 2], ["id": "1"])
    #expect(repeated["duplicate"] == true && repeated["differs"] == nil)
  }

  @Test func `long ids are told apart`() throws {
    let engine = try Engine(["p": Self.counting])
    let long = String(repeating: "x", count: 300)
    try engine.send("a", [:], ["id": .string(long + "1")])
    #expect(try engine.send("a", [:], ["id": .string(long + "2")])["duplicate"] == false)
    #expect(try engine.send("a", [:], ["id": .string(long + "1")])["duplicate"] == true)
  }

  @Test func `a dry run neither looks up nor leaves an id nor changes anything`() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", [:], ["id": "1"])
    let before = try engine.local.contents()
    let outcome = try engine.send("a", [:], ["id": "1", "dryrun": true])
    #expect(outcome["duplicate"] == false)
    #expect(outcome["decisions"]?["p"]?["n"] == 2)
    try engine.send("a", [:], ["id": "2", "dryrun": true])
    let after = try engine.local.contents()
    #expect(after.map(\.key) == before.map(\.key) && after.map(\.value) == before.map(\.value))
    #expect(try engine.send("a", [:], ["id": "2"])["duplicate"] == false)
  }

  @Test func `an id is remembered over a restart`() throws {
    let engine = try Engine(["p": Self.counting])
    try engine.send("a", [:], ["id": "1"])
    let again = try Engine(["p": Self.counting], store: engine.store)
    #expect(try again.send("a", [:], ["id": "1"])["duplicate"] == true)
    #expect(try again.send("a", [:], ["id": "2"])["version"] == 2)
  }
}

extension JSONObject {
  /// The object with one more member.
  fileprivate func adding(_ name: String, _ value: JSONValue) -> JSONObject {
    var other = self
    other[name] = value
    return other
  }
}
