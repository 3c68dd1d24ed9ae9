import RuledCore
import RuledJSON
import RuledLua
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledEngine

/// Random joins, leaves, publications, messages and erasures on two workers, with lost batches and restarts: every member gets what it is to get.
@Suite struct PublicationPropertyTests {
  private static let rules = """
    rule 'join' { on = 'join', run = function(e) topic.join(e.data.topic) end }
    rule 'leave' { on = 'leave', run = function(e) topic.leave(e.data.topic) end }
    rule 'publish' { on = 'publish', run = function(e)
      publish(e.data.topic, 'came', { n = e.data.n, topic = e.data.topic }, { except = e.data.except })
    end }
    rule 'send' { on = 'send', run = function(e) send(e.data.to, 'came', { n = e.data.n }) end }
    rule 'came' { on = 'came', run = function(e, s)
      s.got = s.got or array {}
      s.got[#s.got + 1] = e.data.n
    end }
    """

  /// What is known of an event that was committed, in the order of the commits.
  private enum Committed {
    case join(String, topic: String)
    case leave(String, topic: String)
    case publish(Int, by: String, topic: String, except: String)
    case send(Int, by: String, to: String)
    case forget(String)
  }

  /// Two workers over one store, whose batches are committed in any order.
  private final class Workers {
    let store = MemoryStore()
    private let lua = LuaWorker()
    private let catalog: Catalog
    private var context: EngineContext
    private var workers: [Evaluator] = []
    /// The messages that each worker is to apply.
    private var inboxes: [[CommitBatch.Message]] = [[], []]
    /// What the uncommitted events of each worker are.
    private var uncommitted: [[Committed]] = [[], []]
    var committed: [Committed] = []
    private let document = TapeDocument()

    init() throws {
      let text = "plugin { name = 'p' } \(rules)"
      let source = PluginSource(
        name: "p", modules: [SourceFile(path: "p/plugin.lua", text: Array(text.utf8))])
      catalog = try CatalogBuilder.build(
        RulesSource(plugins: [source]), configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
      context = Self.context(store)
      try restart()
    }

    private static func context(_ store: MemoryStore) -> EngineContext {
      EngineContext(store: store, clock: EngineClock(manual: LocalEngine.start), configuration: .init(), log: NoLog())
    }

    /// Begins anew over what is durable, as after a kill.
    func restart() throws {
      context = Self.context(store)
      try StoredTime.resume(context)
      try TopicListing.resume(context)
      workers = (0..<2).map { index in
        Evaluator(context: context, catalog: catalog, lua: lua, cacheBytes: 1 << 20, worker: UInt64(index))
      }
      uncommitted = [[], []]
      inboxes = [[], []]
      var found: [CommitBatch.Message] = []
      try StoreListing.forEachMessage(context) { subject, sequence, _ in
        found.append(.init(subject: Array(subject), sequence: sequence))
      }
      for message in found.sorted(by: { $0.sequence < $1.sequence }) { inboxes[owner(message.subject)].append(message) }
    }

    private func owner(_ subject: [UInt8]) -> Int { Int(subject.last ?? 0) % 2 }

    func evaluate(_ event: Committed, _ subject: String, _ type: String, _ data: JSONObject, id: Int) throws {
      let worker = owner(Array(subject.utf8))
      let text = ByteBuffer(capacity: 256)
      JSONValue.object([
        "type": .string(type), "subject": .string(subject), "id": .string("\(id)"), "data": .object(data),
      ])
      .write(to: text)
      var input = EventInput(
        stored: try document.parse(copyOf: text.bytes), text: document.text, now: context.clock.now.microseconds)
      input.origin = .client
      try workers[worker].evaluate(input, into: ByteBuffer(capacity: 256))
      uncommitted[worker].append(event)
    }

    func forget(_ subject: String) throws {
      let worker = owner(Array(subject.utf8))
      try workers[worker].forget(subject)
      uncommitted[worker].append(.forget(subject))
    }

    func commit(_ worker: Int) throws {
      let evaluator = workers[worker]
      let batch = evaluator.takeBatch()
      batch.numberTopics(in: context)
      try store.commit(batch.writes, durable: true)
      context.counters.addDurable(batch)
      evaluator.noteDurable(batch)
      committed += uncommitted[worker]
      uncommitted[worker] = []
      if batch.publishes { workers[0].publications.noteMore(batch.publicationNumbers) }
      for message in batch.messages { inboxes[owner(message.subject)].append(message) }
    }

    /// Loses what a worker has evaluated since its last commit.
    func lose(_ worker: Int) throws {
      let batch = workers[worker].takeBatch()
      workers[worker].discardAll(from: batch)
      uncommitted[worker] = []
      let lost = Set(batch.delivered.map(\.sequence))
      inboxes[worker] = batch.delivered.filter { lost.contains($0.sequence) } + inboxes[worker]
    }

    /// Brings publications to a few members.
    func step() throws -> PublicationQueue.Remaining {
      var left = 3
      return try workers[0].publications.step {
        left -= 1
        return left < 0
      }
    }

    func deliver(_ worker: Int) throws {
      guard !inboxes[worker].isEmpty else { return }
      _ = try workers[worker].deliver(inboxes[worker].removeFirst())
    }

    func settle() throws {
      while true {
        for worker in 0..<2 { try commit(worker) }
        if case .more = try step() { continue }
        if inboxes.allSatisfy(\.isEmpty) { return }
        for worker in 0..<2 { try deliver(worker) }
      }
    }

    func got(_ subject: String) throws -> [Int] {
      let state = try? workers[owner(Array(subject.utf8))].state(of: subject)
      return (state?["plugins"]?["p"]?["got"]?.arrayValue ?? []).compactMap { $0.intValue.map { Int($0) } }
    }
  }

  private static func run(seed: UInt64) throws -> Workers {
    var random = SeededRandom(seed: seed)
    let workers = try Workers()
    func subject() -> String { "user:\(Int.random(in: 0..<10, using: &random))" }
    func topic() -> String { ["a", "b"][Int.random(in: 0..<2, using: &random)] }
    for n in 0..<400 {
      let (subject, topic) = (subject(), topic())
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<18:
        try workers.evaluate(.join(subject, topic: topic), subject, "join", ["topic": .string(topic)], id: n)
      case 18..<24:
        try workers.evaluate(.leave(subject, topic: topic), subject, "leave", ["topic": .string(topic)], id: n)
      case 24..<34:
        let except = "user:\(Int.random(in: 0..<10, using: &random))"
        try workers.evaluate(
          .publish(n, by: subject, topic: topic, except: except), subject, "publish",
          ["topic": .string(topic), "n": .integer(Int64(n)), "except": .string(except)], id: n)
      case 34..<44:
        let target = "user:\(Int.random(in: 0..<10, using: &random))"
        try workers.evaluate(
          .send(n, by: subject, to: target), subject, "send", ["to": .string(target), "n": .integer(Int64(n))], id: n)
      case 44..<46: try workers.forget(subject)
      case 46..<48: try workers.lose(Int.random(in: 0..<2, using: &random))
      case 48: try workers.restart()
      case 49..<65: _ = try workers.step()
      case 65..<80: try workers.deliver(Int.random(in: 0..<2, using: &random))
      default: try workers.commit(Int.random(in: 0..<2, using: &random))
      }
    }
    try workers.settle()
    return workers
  }

  @Test(arguments: UInt64(1)...30) func `every member gets exactly its publications, in order`(seed: UInt64) throws {
    let workers = try Self.run(seed: seed)
    let all = (0..<10).map { "user:\($0)" }
    // By subject: what it must have, what it may have, and the topics that it is a member of.
    var must: [String: [Int]] = [:], may: [String: Set<Int>] = [:]
    var members: [String: Set<String>] = ["a": [], "b": []]
    var topics: [Int: String] = [:], publishers: [Int: String] = [:]
    var order: [Int] = []
    for event in workers.committed {
      switch event {
      case .join(let subject, let topic): members[topic]?.insert(subject)
      case .leave(let subject, let topic):
        members[topic]?.remove(subject)
        must[subject]?.removeAll { topics[$0] == topic }
      case .publish(let n, let publisher, let topic, let except):
        (topics[n], publishers[n]) = (topic, publisher)
        order.append(n)
        for member in members[topic] ?? [] where member != except {
          must[member, default: []].append(n)
          may[member, default: []].insert(n)
        }
      case .send(let n, let publisher, let target):
        publishers[n] = publisher
        must[target, default: []].append(n)
        may[target, default: []].insert(n)
      case .forget(let subject):
        for topic in ["a", "b"] { members[topic]?.remove(subject) }
        // Messages of others that were sent before may come after it, as ever.
        must[subject] = []
        may[subject] = may[subject]?.filter { topics[$0] == nil }
      }
    }
    for subject in all {
      let got = try workers.got(subject)
      #expect(Set(got).count == got.count, "\(subject) got something twice")
      #expect(Set(got).isSubset(of: may[subject] ?? []), "\(subject) got what is not for it")
      #expect(Set(must[subject] ?? []).isSubset(of: Set(got)), "\(subject) lacks something")
      let published = got.filter { topics[$0] != nil }
      #expect(published == order.filter(published.contains), "\(subject) got publications in another order")
      for publisher in all {
        let own = got.filter { publishers[$0] == publisher }
        #expect(own == own.sorted(), "\(subject) got what \(publisher) sent in another order")
      }
    }
    #expect(try workers.store.rest.isEmpty)
  }

  @Test func `a publication that can't be read holds up no other`() throws {
    let store = FaultyStore(MemoryStore())
    let engine = try Engine(["p": Self.rules], store: store)
    try engine.send("join", ["topic": "a"], to: "user:1")
    store.failReads(of: { $0.first == StoreKey.Kind.publication.rawValue })
    #expect(throws: RequestError.self) { try engine.send("publish", ["topic": "a", "n": 1], to: "user:2") }
    store.failReads(of: nil)
    try engine.local.runUntilIdle()
    try engine.send("publish", ["topic": "a", "n": 2], to: "user:2")
    #expect(try engine.state("p")?["got"] == [1, 2])
  }
}

extension MemoryStore {
  /// The kinds of the keys that are left of publications and messages.
  fileprivate var rest: Set<UInt8> {
    get throws {
      var kinds: Set<UInt8> = []
      for kind in [StoreKey.Kind.publication, .publicationCursor, .message] {
        try scan(prefix: StoreKey.prefix(kind)) { key, _ in
          kinds.insert(key[0])
          return true
        }
      }
      return kinds
    }
  }
}
