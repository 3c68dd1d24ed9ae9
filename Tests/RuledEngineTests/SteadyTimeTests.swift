import RuledCore
import RuledJSON
import RuledLua
import RuledStore
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledEngine

/// Outcomes are remembered for their window, and numbers only go up, whatever the host's clock does.
@Suite struct SteadyTimeTests {
  private static let year = 365 * 24 * Limits.hour
  private static let counting = "rule 'n' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 decide('n', s.n) end }"

  /// An evaluator over a store whose clock a test moves.
  private final class Daemon {
    let script: EngineClock.Script
    let context: EngineContext
    let store: any StateStore
    private let evaluator: Evaluator
    private let document = TapeDocument()

    init(
      _ store: any StateStore, _ script: EngineClock.Script, catalog: Catalog, lua: LuaWorker, boot: String,
      configuration: Configuration = Configuration()
    ) throws {
      self.store = store
      self.script = script
      context = EngineContext(
        store: store, clock: EngineClock(script: script), configuration: configuration, log: NoLog())
      try StoredTime.resume(context, boot: boot)
      evaluator = Evaluator(
        context: context, catalog: catalog, lua: lua, cacheBytes: configuration.limits.cacheMiB << 20)
    }

    /// The outcome of an event of that id.
    func send(_ id: Int) throws -> JSONValue {
      let text = #"{"type":"a","subject":"s","id":"\#(id)"}"#
      guard let object = Array(text.utf8).withView({ try? document.parse(copyOf: $0) }) else { return .null }
      let event = EventInput(stored: object, text: document.text, now: context.clock.now.microseconds, origin: .client)
      let reply = ByteBuffer()
      try evaluator.evaluate(event, into: reply)
      let batch = evaluator.takeBatch()
      try store.commit(batch.writes, durable: true)
      evaluator.noteDurable(batch)
      return try JSONValue(parsing: reply.bytes)
    }

    /// What the committer does now and then.
    func tick() { store.expire(before: context.clock.steady) }
  }

  private static func catalog(_ lua: LuaWorker) throws -> Catalog {
    let text = "plugin { name = 'p' } " + counting
    return try CatalogBuilder.build(
      RulesSource(plugins: [
        PluginSource(name: "p", modules: [SourceFile(path: "p/plugin.lua", text: Array(text.utf8))])
      ]),
      configuration: [:], previous: nil, worker: lua, now: LocalEngine.start)
  }

  /// The host's clock jumps ahead and back, time passes, the daemon and the host are restarted.
  @Test(arguments: UInt64(1)...24)
  func `a repeat within the window finds its outcome whatever the clock does`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let lua = LuaWorker()
    let catalog = try Self.catalog(lua)
    let store = MemoryStore()
    let script = EngineClock.Script(wall: LocalEngine.start.microseconds, elapsed: 5_000_000)
    var configuration = Configuration()
    if seed.isMultiple(of: 2) { configuration.limits.cacheMiB = 0 }
    var boot = 1
    var daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "1", configuration: configuration)
    /// When each was first sent, in time that truly passed.
    var sent: [Int: Int64] = [:]
    var passed: Int64 = 0
    func pass(_ microseconds: Int64) {
      passed += microseconds
      script.elapsed.add(microseconds, ordering: .relaxed)
      script.wall.add(microseconds, ordering: .relaxed)
    }
    for _ in 0..<500 {
      switch Int.random(in: 0..<24, using: &random) {
      case 0: script.wall.add(.random(in: 0...3 * Self.year, using: &random), ordering: .relaxed)
      case 1: script.wall.subtract(.random(in: 0...3 * Self.year, using: &random), ordering: .relaxed)
      case 2: script.wall.add(.random(in: -Limits.hour...Limits.hour, using: &random), ordering: .relaxed)
      case 3, 4: pass(.random(in: 0...Limits.dedupWindow / 8, using: &random))
      case 5: daemon.tick()
      case 6:
        if Bool.random(using: &random) {  // the host was restarted; nobody measured its down time
          boot += 1
          script.elapsed.store(.random(in: 0...Limits.hour, using: &random), ordering: .relaxed)
        } else {
          pass(.random(in: 0...Limits.dedupWindow / 8, using: &random))
        }
        daemon = try Daemon(
          store, script, catalog: catalog, lua: lua, boot: "\(boot)", configuration: configuration)
      default:
        let isNew = sent.isEmpty || Bool.random(using: &random)
        let id = isNew ? sent.count : Int.random(in: 0..<sent.count, using: &random)
        let isRepeat = sent[id].map { passed - $0 < Limits.dedupWindow - Limits.second } ?? false
        let outcome = try daemon.send(id)
        if isRepeat { #expect(outcome["duplicate"] == true, "event \(id) after \(passed - (sent[id] ?? 0)) µs") }
        if outcome["duplicate"] == false { sent[id] = passed }
      }
    }
  }

  @Test func `an outcome is forgotten when its window has passed, over a restart of the daemon`() throws {
    let lua = LuaWorker()
    let catalog = try Self.catalog(lua)
    let store = MemoryStore()
    let script = EngineClock.Script(wall: LocalEngine.start.microseconds, elapsed: 0)
    var daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b")
    #expect(try daemon.send(1)["duplicate"] == false)
    script.elapsed.add(Limits.dedupWindow - Limits.hour, ordering: .relaxed)
    daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b")
    #expect(try daemon.send(1)["duplicate"] == true)
    script.elapsed.add(Limits.hour + 2 * Limits.second, ordering: .relaxed)
    daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b")
    #expect(try daemon.send(1)["duplicate"] == false)
  }

  @Test func `numbers go up over a restart with the clock set back, and over one that lost their stored bound`()
    throws
  {
    let lua = LuaWorker()
    let catalog = try Self.catalog(lua)
    let store = MemoryStore()
    let script = EngineClock.Script(wall: LocalEngine.start.microseconds, elapsed: 0)
    let before = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b").context.nextSequence()
    script.wall.subtract(Self.year, ordering: .relaxed)
    var daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b")
    let after = daemon.context.nextSequence()
    #expect(after > before)
    let set = WriteSet()
    let effect = StoreKey.bytes { StoreKey.numbered(.effect, "s", after, into: $0) }
    let kept = StoreKey.bytes { StoreKey.daemon("time", into: $0) }
    effect.withView { set.put($0, ByteView("{}")) }
    kept.withView { set.delete($0) }
    try store.commit(set, durable: true)
    daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b")
    #expect(daemon.context.nextSequence() > after)
  }

  @Test func `a stored time that can't be read is reported, and nothing is forgotten early for it`() throws {
    let lua = LuaWorker()
    let catalog = try Self.catalog(lua)
    let store = FaultyStore(MemoryStore())
    let script = EngineClock.Script(wall: LocalEngine.start.microseconds, elapsed: 0)
    #expect(try Daemon(store, script, catalog: catalog, lua: lua, boot: "b").send(1)["duplicate"] == false)
    let kept = StoreKey.bytes { StoreKey.daemon("time", into: $0) }
    store.failReads { $0.elementsEqual(kept) }
    script.wall.add(Limits.dedupWindow - Limits.hour, ordering: .relaxed)
    let daemon = try Daemon(store, script, catalog: catalog, lua: lua, boot: "b")
    #expect(daemon.context.damage.entries.listed.map(\.thing.what) == ["the daemon's own 'time'"])
    daemon.tick()
    #expect(try daemon.send(1)["duplicate"] == true)
  }
}
