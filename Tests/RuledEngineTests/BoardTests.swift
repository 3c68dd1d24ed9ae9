import RuledCore
import RuledJSON
import RuledStore
import StoreTestSupport
import Testing

@testable import RuledEngine

/// Boards: who is first, who had a score first, and until when.
@Suite struct BoardTests {
  private static let plugin = """
    rule 'set' { on = 'set', run = function(e) board.set(e.data.name or 'b', e.data.n, e.data.options) end }
    rule 'add' { on = 'add', run = function(e) board.add(e.data.name or 'b', e.data.n, e.data.options) end }
    rule 'leave' { on = 'leave', run = function(e) board.leave(e.data.name or 'b') end }
    rule 'forget' { on = 'forget', run = function(e)
      board.set('b', 1) forget() if e.data.again then board.set('again', 2) end
    end }
    rule 'peculiar' { on = 'peculiar', run = function(e)
      if e.data.what == 'nan' then board.set('b', 0/0) elseif e.data.what == 'text' then board.set('b', '1')
      elseif e.data.what == 'infinite' then board.add('b', math.huge) elseif e.data.what == 'option' then board.set('b', 1, { keap = '1d' })
      elseif e.data.what == 'keep' then board.set('b', 1, { keep = 'long' }) elseif e.data.what == 'low' then board.set('b', 1, { low = 1 })
      elseif e.data.what == 'twice' then board.add('b', 1e308) board.add('b', 1e308)
      elseif e.data.what == 'half' then board.set('b', 1, { keep = '1.5d' })
      elseif e.data.what == 'digits' then board.set('b', (1 << 53) + 1)
      elseif e.data.what == 'least' then board.add('b', math.mininteger)
      elseif e.data.what == 'sum' then board.set('b', 1 << 53) board.add('b', 1 << 40)
      elseif e.data.what == 'step' then board.set('b', (1 << 53) - 1) board.add('b', 5)
      elseif e.data.what == 'whole' then board.set('b', 1 << 53) board.add('c', 1e300)
      elseif e.data.what == 'name' then board.set('', 1) else board.top('b', 1) end
    end }
    query 'top' (function(_, args) return board.top(args.name or 'b', args.n or 10, args.from) end)
    query 'around' (function(_, args) return board.around('b', args.subject, args.n) end)
    query 'rank' (function(_, args) return { rank = board.rank('b', args.subject), count = board.count('b') } end)
    """

  private static let day = 24 * Limits.hour

  private static func engine(store: any StateStore = MemoryStore()) throws -> Engine {
    try Engine(["p": plugin], store: store)
  }

  /// The board in its order, as `user:2=5 user:1=3`.
  private static func text(_ engine: Engine, _ name: String = "b") -> String {
    (engine.local.board(name, of: "p").arrayValue ?? []).map { place in
      "\(place["subject"]?.stringValue ?? "?")=\(place["score"]?.text ?? "?")"
    }.joined(separator: " ")
  }

  private func query(_ engine: Engine, _ name: String, _ arguments: JSONValue) throws -> JSONValue {
    try engine.local.query("p.\(name)", subject: nil, arguments: arguments)
  }

  // MARK: Places

  @Test func `names that look alike are two boards`() throws {
    let engine = try Self.engine()
    let names = ["caf\u{e9}", "cafe\u{301}"]
    for (name, score) in zip(names, [10, 20] as [JSONValue]) {
      try engine.send("set", ["name": .string(name), "n": score], to: "user:1")
    }
    #expect(names.map { Self.text(engine, $0) } == ["user:1=10", "user:1=20"])
    try engine.send("leave", ["name": .string(names[0])], to: "user:1")
    #expect(names.map { Self.text(engine, $0) } == ["", "user:1=20"])
  }

  @Test func `a count that is none is named by its type, without its address`() throws {
    let engine = try Self.engine()
    let problem = #expect(throws: RequestError.self) { try query(engine, "top", ["n": [:]]) }
    #expect(problem?.message.contains("not table") == true && problem?.message.contains("0x") == false)
  }

  @Test func `the greatest score is first, and of equal ones the one that somebody had first`() throws {
    let engine = try Self.engine()
    for (subject, score) in [("user:1", 3), ("user:2", 5), ("user:3", 3), ("user:4", 4)] as [(String, Int64)] {
      try engine.send("set", ["n": .integer(score)], to: subject)
    }
    #expect(Self.text(engine) == "user:2=5 user:4=4 user:1=3 user:3=3")
    try engine.send("set", ["n": 3], to: "user:1")
    #expect(Self.text(engine) == "user:2=5 user:4=4 user:1=3 user:3=3", "the same score again keeps its place")
    try engine.send("add", ["n": 1], to: "user:1")
    try engine.send("add", ["n": -1], to: "user:1")
    #expect(Self.text(engine) == "user:2=5 user:4=4 user:3=3 user:1=3", "who comes back to a score has it anew")
    try engine.send("add", ["n": 0.5], to: "user:5")
    try engine.send("leave", to: "user:2")
    try engine.send("leave", to: "user:2")
    #expect(Self.text(engine) == "user:4=4 user:3=3 user:1=3 user:5=0.5")
  }

  @Test func `the least score is first where the last call says so`() throws {
    let engine = try Self.engine()
    for (subject, score) in [("user:1", 3), ("user:2", 5), ("user:3", 3)] as [(String, Int64)] {
      try engine.send("set", ["n": .integer(score), "options": ["low": true]], to: subject)
    }
    #expect(Self.text(engine) == "user:1=3 user:3=3 user:2=5")
    #expect(try query(engine, "rank", ["subject": "user:3"]) == ["rank": 2, "count": 3])
    try engine.send("leave", to: "user:1")
    #expect(Self.text(engine) == "user:3=3 user:2=5")
    try engine.send("add", ["n": 0], to: "user:2")
    #expect(Self.text(engine) == "user:3=3 user:2=5", "a call without options says nothing of them")
    try engine.send("set", ["n": 5, "options": [:]], to: "user:2")
    #expect(Self.text(engine) == "user:2=5 user:3=3")
    #expect(Self.text(try Self.engine(store: engine.store)) == "user:2=5 user:3=3")
  }

  @Test func `queries read ranks from 1 on, parts of a board, and the places around a subject`() throws {
    let engine = try Self.engine()
    for number in 1...7 as ClosedRange<Int64> { try engine.send("set", ["n": .integer(-number)], to: "user:\(number)") }
    func subjects(_ places: JSONValue) -> [String] {
      (places.arrayValue ?? []).compactMap { "\($0["rank"]?.text ?? "?") \($0["subject"]?.stringValue ?? "?")" }
    }
    #expect(try subjects(query(engine, "top", ["n": 2])) == ["1 user:1", "2 user:2"])
    #expect(try subjects(query(engine, "top", ["n": 2, "from": 6])) == ["6 user:6", "7 user:7"])
    #expect(try query(engine, "top", ["n": 2, "from": 8]) == [] && query(engine, "top", ["n": 0]) == [])
    #expect(try subjects(query(engine, "around", ["subject": "user:1", "n": 1])) == ["1 user:1", "2 user:2"])
    #expect(try subjects(query(engine, "around", ["subject": "user:4", "n": 1])).count == 3)
    #expect(try subjects(query(engine, "around", ["subject": "user:7", "n": 0])) == ["7 user:7"])
    #expect(try query(engine, "around", ["subject": "user:8", "n": 1]) == [])
    #expect(try query(engine, "rank", ["subject": "user:7"]) == ["rank": 7, "count": 7])
    #expect(try query(engine, "rank", ["subject": "user:8"]) == ["count": 7])
    #expect(try query(engine, "top", ["name": "unknown"]) == [])
    #expect(throws: RequestError.self) { try query(engine, "top", ["n": -1]) }
    #expect(throws: RequestError.self) { try query(engine, "top", ["n": 1, "from": 0]) }
  }

  @Test(arguments: [
    "nan", "text", "infinite", "option", "keep", "low", "twice", "name", "half", "digits", "least", "sum", "step",
  ])
  func `a wrong score or option is a failure of kind value, and changes nothing`(what: String) throws {
    let engine = try Self.engine()
    #expect(try engine.send("peculiar", ["what": .string(what)]).failureKinds == ["value"])
    #expect(Self.text(engine) == "")
  }

  @Test func `a score is whole up to 2^53, and greater with a fraction's precision`() throws {
    let engine = try Self.engine()
    #expect(try engine.send("peculiar", ["what": "whole"]).failureKinds.isEmpty)
    #expect(Self.text(engine) == "user:1=9007199254740992")
    for n in [5, 1] { #expect(try engine.send("add", ["n": .integer(Int64(n))]).failureKinds == ["value"]) }
    #expect(Self.text(engine) == "user:1=9007199254740992")
    #expect(try engine.send("add", ["n": -1]).failureKinds.isEmpty)
    #expect(Self.text(engine) == "user:1=9007199254740991")
  }

  @Test func `a sum that is not finite is a failure of kind value, over several events too`() throws {
    let engine = try Self.engine()
    try engine.send("add", ["n": 1e308])
    let refused = try engine.send("add", ["n": 1e308])
    #expect(refused.failureKinds == ["value"] && refused["failures"]?[0]?["rule"] == "add")
    #expect(Self.text(engine) == "user:1=1e+308" || Self.text(engine) == "user:1=1e308")
    #expect(try engine.send("peculiar").failureKinds == ["error"], "only queries read")
  }

  // MARK: Until when

  @Test func `a board is removed so long after its last change, and begins anew`() throws {
    let engine = try Self.engine()
    let options: JSONValue = ["keep": "30d"]
    try engine.send("add", ["n": 3, "options": options], to: "user:1")
    try engine.send("add", ["n": 2, "options": options], to: "user:2")
    try engine.local.advance(microseconds: 29 * Self.day)
    try engine.send("add", ["n": 1, "options": options], to: "user:1")
    try engine.local.advance(microseconds: 30 * Self.day - 1)
    #expect(Self.text(engine) == "user:1=4 user:2=2")
    try engine.local.advance(microseconds: 1)
    #expect(Self.text(engine) == "")
    #expect(try query(engine, "rank", ["subject": "user:1"]) == ["count": 0])
    #expect(throws: RequestError.self, "who is on no board is not found") { try engine.export("user:1") }
    try engine.send("add", ["n": 1, "options": options], to: "user:2")
    #expect(Self.text(engine) == "user:2=1")
    let restarted = try Engine(["p": Self.plugin], store: engine.store, start: engine.local.now)
    #expect(Self.text(restarted) == "user:2=1")
    for left in [engine, restarted] {
      try left.local.context.boards.sweep(left.store, at: left.local.now.microseconds, looksForBoards: true)
      #expect(Self.text(left) == "user:2=1")
      #expect(try left.local.contents().count { $0.key.first == StoreKey.Kind.place.rawValue } == 1)
    }
    try engine.local.advance(microseconds: 30 * Self.day)
    for _ in 1...2 {
      try engine.local.context.boards.sweep(engine.store, at: engine.local.now.microseconds, looksForBoards: true)
    }
    let kinds = [StoreKey.Kind.place.rawValue, StoreKey.Kind.board.rawValue]
    #expect(try engine.local.contents().allSatisfy { !kinds.contains($0.key.first ?? 0) })
    try engine.send("add", ["n": 7, "options": options], to: "user:1")
    #expect(Self.text(engine) == "user:1=7")
  }

  @Test func `options hold on an empty board until its time is over, swept or not`() throws {
    let engine = try Self.engine()
    func fill(_ name: String) throws -> String {
      for (subject, score) in [("user:1", 5), ("user:2", 9)] as [(String, JSONValue)] {
        try engine.send("set", ["n": score, "name": .string(name)], to: subject)
      }
      return Self.text(engine, name)
    }
    func sweep() throws {
      try engine.local.context.boards.sweep(engine.store, at: engine.local.now.microseconds, looksForBoards: true)
    }
    let names = ["swept", "left"]
    for name in names {
      try engine.send("set", ["n": 1, "name": .string(name), "options": ["low": true, "keep": "1h"]])
      try engine.send("leave", ["name": .string(name)])
    }
    try sweep()
    #expect(try names.map(fill) == Array(repeating: "user:1=5 user:2=9", count: 2))
    try engine.local.advance(microseconds: Limits.hour)
    #expect(names.map { Self.text(engine, $0) } == ["", ""])
    #expect(try fill("left") == "user:2=9 user:1=5")
    for _ in 1...2 { try sweep() }
    #expect(try fill("swept") == "user:2=9 user:1=5")
  }

  // MARK: Forgetting

  @Test func `forget takes the subject off the plugin's boards, and later places hold`() throws {
    let engine = try Self.engine()
    for name in ["b", "c"] {
      for subject in ["user:1", "user:2"] { try engine.send("set", ["n": 1, "name": .string(name)], to: subject) }
    }
    try engine.send("forget", ["again": true])
    #expect(Self.text(engine) == "user:2=1" && Self.text(engine, "c") == "user:2=1")
    #expect(Self.text(engine, "again") == "user:1=2")
    #expect(try engine.export("user:1")["boards"] == [["board": "p/again", "score": 2]])
    _ = try engine.forget("user:1")
    #expect(Self.text(engine, "again") == "")
    #expect(throws: RequestError.self) { try engine.export("user:1") }
    let restarted = try Self.engine(store: engine.store)
    #expect(Self.text(restarted) == "user:2=1" && Self.text(restarted, "again") == "")
  }

  @Test func `a place alone makes a subject found`() throws {
    let engine = try Engine(["p": "rule 'r' { on = 'x', run = function() board.set('b', 1) end }"])
    try engine.send("x")
    #expect(try engine.export("user:1")["boards"] == [["board": "p/b", "score": 1]])
    #expect(
      try StoreListing.subjects(engine.local.context, prefix: "", after: nil, limit: 10).subjects == ["user:1"])
  }

  @Test func `a place that can't be read fails its subject's change, and others go on`() throws {
    let store = FaultyStore(MemoryStore())
    let first = try Self.engine(store: store)
    try first.send("set", ["n": 1], to: "user:1")
    store.failScans(true)
    #expect(throws: RequestError.self) { try first.send("forget") }
    store.failScans(false)
    #expect(Self.text(first) == "user:1=1")
  }

  @Test func `an explanation shows places, and a dry run gives none`() throws {
    let engine = try Self.engine()
    let outcome = try engine.send("add", ["n": 3], ["dryrun": true, "explain": true])
    let entries = outcome["trace"]?.arrayValue ?? []
    #expect(entries.contains { $0["rule"] == "add" && $0["places"] == ["b: +3"] })
    #expect(Self.text(engine) == "")
  }
}

extension Engine {
  fileprivate func export(_ subject: String) throws -> JSONValue {
    let name = ByteBuffer(capacity: 16)
    name.append(contentsOf: subject)
    return try local.evaluator.export(name.bytes)
  }

  fileprivate func forget(_ subject: String) throws -> JSONValue {
    let name = ByteBuffer(capacity: 16)
    name.append(contentsOf: subject)
    defer { try? local.runUntilIdle() }
    return try local.evaluator.forget(name.bytes)
  }
}
