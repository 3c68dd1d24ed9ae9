import RuledCore
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledEngine

/// Random changes give the boards that a sorted list gives.
@Suite struct BoardPropertyTests {
  /// A board as a list of who has which score, and when they had it.
  private struct Model {
    var places: [String: (score: Double, had: Int)] = [:]
    var options = Board.Options()
    var changed: Int64 = 0
    var changes = 0

    /// Forgets all if the board's time is over.
    mutating func end(at now: Int64) {
      guard let keep = options.keep, now - changed >= keep else { return }
      places.removeAll()
      options = Board.Options()
    }

    mutating func set(_ subject: String, _ score: Double?, _ options: Board.Options?, at now: Int64) {
      end(at: now)
      let present = places[subject]?.score
      if let options, options != self.options {
        self.options = options
        changed = now
      }
      guard score != present else { return }
      changes += 1
      changed = now
      places[subject] = score.map { ($0, changes) }
    }

    mutating func add(_ subject: String, _ number: Double, _ options: Board.Options?, at now: Int64) {
      end(at: now)
      set(subject, (places[subject]?.score ?? 0) + number, options, at: now)
    }

    var ranked: [(subject: String, score: Double)] {
      places.sorted { left, right in
        guard left.value.score != right.value.score else { return left.value.had < right.value.had }
        return options.leastFirst == (left.value.score < right.value.score)
      }.map { ($0.key, $0.value.score) }
    }
  }

  private static let plugin = """
    rule 'do' { on = 'do', run = function(event)
      local d = event.data
      if d.how == 'forget' then return forget() end
      if d.how == 'leave' then return board.leave(d.name) end
      board[d.how](d.name, d.n, d.low ~= nil and { low = d.low, keep = d.keep } or nil)
    end }
    query 'all' (function(_, args)
      local ranks = {}
      for i, place in ipairs(board.top(args.name, 1000)) do
        assert(board.rank(args.name, place.subject) == i and place.rank == i)
        ranks[i] = place.subject .. '=' .. place.score
      end
      assert(board.count(args.name) == #ranks)
      return { ranks = table.concat(ranks, ' ') }
    end)
    """

  private static func engine(_ store: any StateStore, _ start: Timestamp) throws -> Engine {
    try Engine(["p": plugin], store: store, start: start)
  }

  private static let names = ["a", "b"]

  @Test(arguments: 0..<12) func `boards are as sorted lists are`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = FaultyStore(MemoryStore())
    var engine = try Self.engine(store, LocalEngine.start)
    var models = [Model(), Model()]
    for step in 0..<100 {
      let board = Int.random(in: 0...1, using: &random)
      let subject = "user:\(Int.random(in: 1...9, using: &random))"
      let number = Double(Int.random(in: -2...3, using: &random))
      let keep = [nil, 100, 1000][Int.random(in: 0...2, using: &random)] as Int64?
      let options =
        Int.random(in: 0...2, using: &random) == 0
        ? nil : Board.Options(leastFirst: Bool.random(using: &random), keep: keep.map { $0 * Limits.second })
      let now = engine.local.now.microseconds
      var how = ["set", "add", "add", "leave", "forget"][Int.random(in: 0...4, using: &random)]
      switch Int.random(in: 0...11, using: &random) {
      case 0:
        how = "forget"
        try engine.erase(subject)
        for index in models.indices { models[index].set(subject, nil, nil, at: now) }
      case 1: engine = try Self.engine(store, engine.local.now)
      case 2: try engine.local.advance(microseconds: Int64.random(in: 1...120, using: &random) * Limits.second)
      case 3: try engine.local.context.boards.sweep(store, at: now, looksForBoards: true, most: 3)
      default:
        if how == "forget", Int.random(in: 0...2, using: &random) > 0 { how = "set" }
        var data: JSONObject = [
          "how": .string(how), "name": .string(Self.names[board]), "n": .number(number),
        ]
        if let options {
          data["low"] = .bool(options.leastFirst)
          data["keep"] = keep.map { .string("\($0)s") }
        }
        if Int.random(in: 0...9, using: &random) == 0 {
          store.failCommit(1)
          #expect(throws: RequestError.self) {
            try engine.send("do", .object(data), to: subject, ["id": .string("\(step)")])
          }
          try store.reopen()
          continue
        }
        try engine.send("do", .object(data), to: subject, ["id": .string("\(step)")])
        switch how {
        case "set": models[board].set(subject, number, options, at: now)
        case "add": models[board].add(subject, number, options, at: now)
        case "leave": models[board].set(subject, nil, nil, at: now)
        default: for index in models.indices { models[index].set(subject, nil, nil, at: now) }
        }
      }
      for (index, name) in Self.names.enumerated() {
        models[index].end(at: engine.local.now.microseconds)
        let wanted = models[index].ranked.map { "\($0.subject)=\(Int($0.score))" }.joined(separator: " ")
        let got = try engine.local.query("p.all", subject: nil, arguments: ["name": .string(name)])
        #expect(got["ranks"]?.stringValue == wanted, "step \(step), board \(name), \(how)")
      }
    }
  }

  // MARK: Many places

  @Test(arguments: 0..<4) func `many places are found, ranked and removed as in a sorted list`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var places = RankedPlaces()
    var scores: [String: Place] = [:]
    for number in 0..<6000 as Range<UInt64> {
      let subject =
        "user:\(Int.random(in: 0..<2500, using: &random))" + (seed == 1 ? String(repeating: "x", count: 200) : "")
      let place = Place(score: Double(Int.random(in: 0..<(seed == 2 ? 3 : 10_000), using: &random)), number: number)
      let removes = Int.random(in: 0..<(number > 4000 ? 2 : 5), using: &random) == 0
      subject.withView { if removes { places.remove($0) } else { places.set($0, to: place) } }
      scores[subject] = removes ? nil : place
    }
    if seed == 3 {
      places = RankedPlaces()
      for (subject, place) in scores { subject.withView { places.append($0, place) } }
      places.sort()
    }
    #expect(places.count == scores.count)
    for leastFirst in [false, true] {
      let wanted = scores.sorted { left, right in
        guard left.value.score != right.value.score else { return left.value.number < right.value.number }
        return leastFirst == (left.value.score < right.value.score)
      }.map(\.key)
      var got: [String] = []
      places.forEach(from: 1, leastFirst: leastFirst) { subject, score, rank in
        got.append(String(decoding: subject, as: UTF8.self))
        return rank == got.count && score == scores[got[rank - 1]]?.score
      }
      #expect(got == wanted)
      for (index, subject) in wanted.enumerated() {
        let rank = subject.withView { places.rank(of: $0, leastFirst: leastFirst) }
        if rank != index + 1 { Issue.record("\(subject) has rank \(rank ?? 0), not \(index + 1)") }
      }
    }
    #expect("nobody".withView { places[$0] } == nil)
  }
}

extension Engine {
  /// Erases a subject, as a client's `forget` does.
  fileprivate func erase(_ subject: String) throws {
    let name = ByteBuffer(capacity: 16)
    name.append(contentsOf: subject)
    _ = try local.evaluator.forget(name.bytes)
    try local.runUntilIdle()
  }
}
