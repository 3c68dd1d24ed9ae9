import RuledCore
import RuledJSON
import RuledStore
import Testing

@testable import RuledEngine

@Suite struct TopicTests {
  private static let news = """
    rule 'join' { on = 'join', run = function(e, s) topic.join(e.data.topic or 'news') s.member = topic.joined('news') end }
    rule 'leave' { on = 'leave', run = function(e, s) topic.leave('news') s.member = topic.joined('news') end }
    rule 'go' { on = 'go', run = function(e)
      for _, n in ipairs(e.data.ns) do publish('news', 'came', { n = n }, e.data.except and { except = e.data.except }) end
      for _, n in ipairs(e.data.then_send or {}) do send(e.data.to, 'came', { n = n }) end
    end }
    rule 'came' { on = 'came', run = function(e, s)
      s.got = s.got or array {}
      s.got[#s.got + 1] = e.data.n
    end }
    rule 'forget' { on = 'forget', run = function() forget() end }
    query 'count' (function() return topic.count('news') end)
    """

  private static func got(_ engine: Engine, _ subject: String) throws -> JSONValue? {
    try engine.state("p", of: subject)?["got"]
  }

  private static func export(_ engine: Engine, _ subject: String) throws -> JSONValue {
    try Array(subject.utf8).withView { try engine.local.evaluator.export($0) }
  }

  @Test func `members get publications, each once and in order, and nobody else does`() throws {
    let engine = try Engine(["p": Self.news])
    for n in 1...3 { try engine.send("join", to: "user:\(n)") }
    try engine.send("leave", to: "user:3")
    try engine.send("go", ["ns": [1, 2]], to: "author", ["id": "1"])
    try engine.send("go", ["ns": [1, 2]], to: "author", ["id": "1"])
    try engine.send("join", to: "user:4")
    try engine.send("go", ["ns": [3], "except": "user:1"], to: "author")
    #expect(try Self.got(engine, "user:1") == [1, 2])
    #expect(try Self.got(engine, "user:2") == [1, 2, 3])
    #expect(try Self.got(engine, "user:3") == nil)
    #expect(try Self.got(engine, "user:4") == [3])
    #expect(try Self.got(engine, "author") == nil)
    for kind in [StoreKey.Kind.publication, .publicationCursor, .message] {
      #expect(try engine.stored(kind).isEmpty)
    }
    #expect(try engine.local.query("p.count", subject: nil, arguments: nil) == 3)
  }

  @Test func `who joins with the event that publishes is told, and who leaves with it is not`() throws {
    let engine = try Engine([
      "p": Self.news
        + " rule 'both' { on = 'both', run = function(e) publish('news', 'came', { n = 7 }) topic[e.data.how]('news') end }"
    ])
    try engine.send("both", ["how": "join"], to: "user:1")
    #expect(try Self.got(engine, "user:1") == [7])
    try engine.send("both", ["how": "leave"], to: "user:1")
    #expect(try Self.got(engine, "user:1") == [7])
  }

  @Test func `a message that follows a publication reaches a member behind it`() throws {
    let engine = try Engine(["p": Self.news])
    try engine.send("join", to: "user:2")
    try engine.send("go", ["ns": [1, 2], "then_send": [3, 4], "to": "user:2"])
    #expect(try Self.got(engine, "user:2") == [1, 2, 3, 4])
  }

  @Test func `a rule sees memberships as its own calls have left them`() throws {
    let engine = try Engine([
      "p": """
      rule 'r' { on = 'r', run = function(e, s)
        s.seen = array { topic.joined('a') }
        topic.join('a') s.seen[2] = topic.joined('a')
        topic.leave('a') s.seen[3] = topic.joined('a')
        topic.join('a') forget() s.seen = s.seen or array {} s.after = topic.joined('a')
        topic.join('b')
      end }
      query 'joined' (function() return { a = topic.joined('a'), b = topic.joined('b') } end)
      """
    ])
    try engine.send("r")
    #expect(try engine.state("p")?["after"] == false)
    #expect(try engine.local.query("p.joined", subject: "user:1", arguments: nil) == ["a": false, "b": true])
    #expect(try engine.stored(.membership).count == 1 && engine.stored(.member).count == 1)
  }

  @Test func `forget of a rule and of a subject leave topics, and export names them`() throws {
    let engine = try Engine(["p": Self.news])
    for n in 1...2 { try engine.send("join", to: "user:\(n)") }
    try engine.send("join", ["topic": "more"], to: "user:2")
    #expect(try Self.export(engine, "user:2")["topics"] == ["p/more", "p/news"])
    try engine.send("forget", to: "user:1")
    try engine.local.evaluator.forget("user:2")
    try engine.local.runUntilIdle()
    #expect(try engine.local.query("p.count", subject: nil, arguments: nil) == 0)
    for kind in [StoreKey.Kind.membership, .member, .memberCount] { #expect(try engine.stored(kind).isEmpty) }
  }

  @Test func `a membership alone makes a subject found`() throws {
    let engine = try Engine(["p": "rule 'r' { on = 'r', run = function() topic.join('a') end }"])
    try engine.send("r")
    #expect(try Self.export(engine, "user:1")["topics"] == ["p/a"])
    #expect(try StoreListing.subjects(engine.local.context, prefix: "", after: nil, limit: 9).subjects == ["user:1"])
  }

  @Test func `pages of subjects without a state are short, and have all of them`() throws {
    let engine = try Engine(["p": "rule 'r' { on = 'r', run = function() topic.join('a') end }"])
    let subjects = (1_000..<1_600).map { "user:\($0)" }
    for subject in subjects { try engine.send("r", to: subject) }
    var (found, after): ([String], String?) = ([], nil)
    repeat {
      let page = try StoreListing.subjects(engine.local.context, prefix: "user:", after: after, limit: 1_000)
      #expect(page.subjects.count <= StoreListing.mostWithoutState)
      found += page.subjects
      after = page.next
    } while after != nil
    #expect(found == subjects)
  }

  @Test func `topics are listed by name with their members and the publications under way`() throws {
    let engine = try Engine(["p": Self.news])
    for n in 1...3 { try engine.send("join", ["topic": .string("t\(n)")], to: "user:\(n)") }
    try engine.send("join", ["topic": "t2"], to: "user:9")
    func names(_ prefix: String, after: String? = nil, limit: Int = 9) throws -> ([JSONValue], String?) {
      let page = try TopicListing.page(engine.local.context, prefix: prefix, after: after, limit: limit)
      return (page.topics.map(\.json), page.next)
    }
    #expect(try names("p/t2").0 == [["name": "p/t2", "members": 2, "publications": 0]])
    #expect(try names("").0.count == 3 && names("q").0.isEmpty)
    let first = try names("p/", limit: 2)
    #expect(first.0.count == 2 && first.1 == "p/t2")
    #expect(try names("p/", after: first.1).0 == [["name": "p/t3", "members": 1, "publications": 0]])
  }

  // MARK: Limits

  @Test func `an event may publish a thousand times and no more`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'r', run = function(e) for i = 1, e.data.n do publish('nobody', 'x') end end }"
    ])
    #expect(try engine.send("r", ["n": 1_000]).failureKinds.isEmpty)
    #expect(try engine.send("r", ["n": 1_001]).failureKinds == ["cycle"])
  }

  @Test(arguments: [1, 2, 5]) func `publications that follow from each other are bounded and end as a cycle`(
    members: Int
  )
    throws
  {
    let engine = try Engine([
      "p": """
      rule 'join' { on = 'join', run = function() topic.join('a') end }
      rule 'r' { on = 'r', run = function(e, s) s.n = (s.n or 0) + 1 publish('a', 'r') end }
      """
    ])
    for n in 0..<members { try engine.send("join", to: "user:\(n)") }
    try engine.send("r", to: "user:0")
    let kinds = Set(try engine.stored(.parked).compactMap { $0["failure"]?["kind"]?.stringValue })
    #expect(kinds == ["cycle"])
    let runs = try (0..<members).reduce(0) { try $0 + Int(engine.state("p", of: "user:\($1)")?["n"]?.intValue ?? 0) }
    #expect(runs <= 1_000 && runs > 5)
  }

  @Test func `members of a topic of more than a thousand can't publish at once, but can from a timer`() throws {
    let engine = try Engine([
      "p": """
      rule 'join' { on = 'join', run = function() topic.join('all') end }
      rule 'go' { on = 'go', run = function(e) publish('all', e.data.type) end }
      rule 'now' { on = 'now', run = function() publish('friends', 'told') end }
      rule 'soon' { on = 'soon', run = function() timer.set('tell', now() + 1, 'now') end }
      rule 'friend' { on = 'friend', run = function() topic.join('friends') end }
      rule 'told' { on = 'told', run = function(_, s) s.n = (s.n or 0) + 1 end }
      """
    ])
    for n in 0..<1_001 { try engine.send("join", to: "user:\(n)") }
    try engine.send("friend", to: "friend")
    try engine.send("go", ["type": "now"])
    let failures = try engine.stored(.parked).compactMap { $0["failure"] }
    #expect(failures.count == 1_001 && failures[0]["kind"] == "cycle")
    #expect(failures[0]["message"]?.stringValue?.contains("a timer that is due in a second") == true)
    try engine.send("go", ["type": "soon"])
    try engine.local.advance(microseconds: 2 * Limits.second)
    #expect(try engine.state("p", of: "friend")?["n"] == 1_001)
  }

  @Test func `members have the full allowance of messages`() throws {
    let engine = try Engine([
      "p": """
      rule 'go' { on = 'go', run = function() for i = 1, 1000 do send('user:1', 'first') end end }
      rule 'first' { on = 'first', run = function(e, s)
        if s.done then return end
        s.done = true
        topic.join('a') publish('a', 'second')
      end }
      rule 'second' { on = 'second', run = function() for i = 1, 1000 do send('user:2', 'third') end end }
      rule 'third' { on = 'third', run = function(e, s) s.n = (s.n or 0) + 1 end }
      """
    ])
    try engine.send("go")
    #expect(try engine.state("p", of: "user:2")?["n"] == 1_000)
  }

  @Test func `a dry run publishes nothing, and an explanation names topics and publications`() throws {
    let engine = try Engine(["p": Self.news])
    try engine.send("join", to: "user:1")
    let joins = try engine.send("join", to: "user:2", ["dryrun": true, "explain": true])
    let goes = try engine.send("go", ["ns": [1], "except": "user:9"], ["dryrun": true, "explain": true])
    #expect(joins["trace"]?.arrayValue?.compactMap { $0["topics"] } == [["joins news"]])
    #expect(goes["trace"]?.arrayValue?.compactMap { $0["publishes"] } == [["came to news except user:9"]])
    #expect(try Self.got(engine, "user:1") == nil)
    #expect(try engine.stored(.member).count == 1)
  }

  @Test func `publications of a plugin that is away wait, and go on when it is back`() throws {
    let engine = try Engine(["p": Self.news])
    try engine.send("join", to: "user:1")
    let text =
      "{\"topic\":\"news\",\"message\":{\"type\":\"came\",\"id\":\"x\",\"source\":\"\",\"data\":{\"n\":5},"
      + "\"hops\":1,\"from\":\"author\",\"may_send\":9,\"sent_by\":\"p\"}}"
    try engine.adopt([:])
    let writes = WriteSet()
    let key = StoreKey.bytes { StoreKey.numbered(.publication, .max / 2, into: $0) }
    key.withView { key in Array(text.utf8).withView { writes.put(key, $0) } }
    try engine.store.commit(writes, durable: true)
    engine.local.evaluator.publications.noteMore([.max / 2])
    try engine.local.runUntilIdle()
    #expect(try engine.stored(.publication).count == 1)
    try engine.adopt(["p": Self.news])
    try engine.local.runUntilIdle()
    #expect(try Self.got(engine, "user:1") == [5])
  }
}
