import Glibc
import IOTestSupport
import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

/// Messages between subjects with a small window: those beyond it are only in the store.
struct MessageInboxTests {
  private static let rules = """
    plugin { name = "p", version = "1" }
    rule "pass" { on = "pass", run = function(event)
      for _, to in ipairs(event.data.to) do send(to, "passed", { from = event.subject, n = event.data.n }) end
    end }
    rule "passed" { on = "passed", run = function(event, state)
      state[event.data.from] = state[event.data.from] or array {}
      local got = state[event.data.from]
      got[#got + 1] = event.data.n
    end }
    """

  private static func small(room: Int, page: Int) -> MessageInbox.Settings {
    var settings = MessageInbox.Settings()
    settings.capacity = room
    settings.pageKeys = page
    settings.markDistance = 7
    settings.expressLimit = 2
    settings.backoff = Backoff(first: 2, longest: 20)
    return settings
  }

  private static func pass(_ number: Int, from subject: String, to: [String], n: Int) -> String {
    let names = to.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"jsonrpc":"2.0","id":\#(number),"method":"event","params":{"type":"pass","subject":"\#(subject)","#
      + #""id":"\#(number)","data":{"n":\#(n),"to":[\#(names)]}}}"# + "\n"
  }

  /// What a subject got, by sender.
  private static func got(_ subject: String, _ client: Client) throws -> JSONValue {
    client.send(#"{"jsonrpc":"2.0","id":1,"method":"state","params":{"subject":"\#(subject)"}}"# + "\n")
    let reply = try JSONValue(parsing: client.receive(lines: 1))
    return reply["result"]?["plugins"]?["p"] ?? [:]
  }

  private static func store(_ messages: [(subject: String, sequence: UInt64, text: String)], in store: any StateStore)
    throws
  {
    let writes = WriteSet()
    for message in messages {
      let key = StoreKey.bytes { StoreKey.numbered(.message, message.subject, message.sequence, into: $0) }
      key.withView { key in Array(message.text.utf8).withView { writes.put(key, $0) } }
    }
    try store.commit(writes, durable: true)
  }

  private static func passed(_ subject: String, _ n: Int, more: String = "") -> String {
    #"{"type":"passed","subject":"\#(subject)","id":"m\#(n)","data":{"from":"old","n":\#(n)}\#(more)}"#
  }

  @Test(arguments: UInt64(1)...4, [Durability.commit, .interval])
  func `each message is applied once, in order per pair, however small the window is and whatever commits fail`(
    seed: UInt64, durability: Durability
  ) throws {
    var random = SeededRandom(seed: seed)
    let store = FaultyStore(MemoryStore())
    let settings = Self.small(
      room: Int.random(in: 1...20, using: &random), page: Int.random(in: 1...20, using: &random))
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: settings) { $0.durability = durability }
    defer { rig.stop() }
    let client = rig.client()
    let receivers = (0..<4).map { "to:\($0)" }
    var sent: [String: [String: [Int]]] = [:]
    var next = 0
    for round in 0..<12 {
      var open: [(number: Int, line: String)] = []
      for _ in 0..<30 {
        next += 1
        let sender = "from:\(Int.random(in: 0..<3, using: &random))"
        let to = (0..<Int.random(in: 1...8, using: &random)).map { _ in
          receivers[Int.random(in: 0..<4, using: &random)]
        }
        for receiver in to { sent[receiver, default: [:]][sender, default: []].append(next) }
        open.append((next, Self.pass(next, from: sender, to: to, n: next)))
      }
      if round % 2 == 1 { store.failCommit(Int.random(in: 1...8, using: &random)) }
      // One by one, as an event that is sent again must not come after a later one of its sender.
      for event in open {
        var isOpen = true
        while isOpen {
          client.send(event.line)
          isOpen = try JSONValue(parsing: client.receive(lines: 1))["error"] != nil
        }
      }
    }
    for receiver in receivers {
      for (sender, numbers) in sent[receiver] ?? [:] {
        let isThere = try eventually { try Self.got(receiver, client)[sender]?.arrayValue?.count ?? 0 >= numbers.count }
        #expect(isThere)
      }
    }
    #expect(eventually { rig.services.messages.waiting == 0 })
    for receiver in receivers {
      let got = try Self.got(receiver, client)
      for (sender, numbers) in sent[receiver] ?? [:] {
        #expect(got[sender]?.arrayValue?.compactMap { $0.intValue.map { Int($0) } } == numbers, "\(receiver) \(sender)")
      }
    }
  }

  @Test func `messages of an earlier process are read a page at a time and applied in order`() throws {
    let store = MemoryStore()
    try Self.store(
      (1...500).map { n in ("to:\(n % 7)", UInt64(n), Self.passed("to:\(n % 7)", n)) }, in: store)
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: Self.small(room: 10, page: 6))
    defer { rig.stop() }
    rig.services.resumeMessages()
    let client = rig.client()
    for receiver in 0..<7 {
      let numbers = (1...500).filter { $0 % 7 == receiver }.map { JSONValue.integer(Int64($0)) }
      #expect(try eventually { try Self.got("to:\(receiver)", client)["old"] == .array(numbers) })
    }
    #expect(eventually { rig.services.messages.waiting == 0 })
  }

  @Test func `a message of a quiet plugin goes ahead of those of a busy one, after the earlier ones to its subject`()
    throws
  {
    let store = MemoryStore()
    var settings = MessageInbox.Settings()
    settings.expressLimit = 10
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: settings)
    defer { rig.stop() }
    let senders = rig.services.context.senders
    let index = rig.services.worker(for: Array("to".utf8))
    let others = (0...).lazy.map { "other:\($0)" }.filter { rig.services.worker(for: Array($0.utf8)) == index }.prefix(
      5)
    let other = Array(others)
    // The 300th message of the busy plugin is to the subject to which the quiet one sends then.
    var all: [(subject: String, sequence: UInt64, plugin: String)] = []
    for n in 1...599 { all.append((n == 300 ? "to" : other[n % 5], UInt64(n), "busy")) }
    all.append(("to", 600, "p"))
    try Self.store(all.map { ($0.subject, $0.sequence, Self.passed($0.subject, Int($0.sequence))) }, in: store)
    let messages = all.map {
      CommitBatch.Message(subject: Array($0.subject.utf8), sequence: $0.sequence, sender: senders[$0.plugin])
    }
    let found = Signal<[UInt64]>()
    rig.workers.perform(on: index) { worker in
      for message in messages { worker.inbox.add([message]) }
      var first: [UInt64] = []
      var express = worker.inbox.express
      while let entry = express.popFirst() { first.append(entry.sequence) }
      found.set(first)
    }
    #expect(found.wait() == [300, 600])
    let client = rig.client()
    #expect(try eventually { try Self.got("to", client)["old"] == [300, 600] })
    let rest: [JSONValue] = stride(from: 5, to: 600, by: 5).filter { $0 != 300 }.map { .integer(Int64($0)) }
    #expect(try eventually { try Self.got(other[0], client)["old"] == .array(rest) })
    #expect(eventually { rig.services.messages.waiting == 0 })
  }

  @Test func `a message does not overtake an earlier one to its subject where a page ends between them`() throws {
    let store = MemoryStore()
    try Self.store(
      (1...11).map { n in
        ("to", UInt64(n), Self.passed("to", n, more: #","sent_by":"\#(n == 11 ? "p" : "busy")""#))
      }, in: store)
    var settings = Self.small(room: 20, page: 20)
    settings.expressLimit = 5
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: settings)
    defer { rig.stop() }
    let senders = rig.services.context.senders
    let found = Signal<Int>()
    rig.workers.perform(on: rig.services.worker(for: Array("to".utf8))) { worker in
      let inbox = worker.inbox
      inbox.marks.set(StoreKey.bytes { StoreKey.numbered(.message, Array("to".utf8), 11, into: $0) })
      inbox.begin([(senders["busy"], 10), (senders["p"], 1)])
      inbox.readPages(until: 0)
      while case .readingExpress = inbox.walk { inbox.readPages(until: 0) }
      found.set(inbox.window.count)
    }
    #expect(found.wait() == 0)
  }

  @Test func `that messages can be read again is said after a walk through all of them`() throws {
    let store = FaultyStore(MemoryStore())
    try Self.store([("a", 1, Self.passed("a", 1))], in: store)
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: Self.small(room: 10, page: 6))
    defer { rig.stop() }
    store.failReads(beginningWith: StoreKey.prefix(.message), byCursor: true)
    let told = Signal<[Int]>()
    rig.workers.perform(on: 0) { worker in
      let inbox = worker.inbox
      inbox.gapTries = 1
      inbox.walk = .reading(position: StoreKey.upperBound(StoreKey.prefix(.message)) ?? [], isDirty: true)
      inbox.readPages(until: 0)
      let early = inbox.gapTries
      inbox.readPages(until: 0)
      told.set([early, inbox.gaps.count])
    }
    #expect(told.wait() == [1, 1])
    #expect(!rig.log.text.contains("can be read from the store again"))
    store.failReads(beginningWith: nil)
    #expect(eventually { rig.log.text.contains("can be read from the store again") })
  }

  @Test func `parked events are tried again though messages wait`() throws {
    let store = MemoryStore()
    try Self.store((1...500).map { ("to:0", UInt64($0), Self.passed("to:0", $0)) }, in: store)
    var settings = MessageInbox.Settings()
    (settings.busyTime, settings.idleTime) = (0, 0)  // one message in each tick
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: settings)
    defer { rig.stop() }
    rig.services.resumeMessages()
    let workers = rig.workers
    let hadMessages = Atomic<Bool>(false)
    @Sendable func look(_ worker: Worker) {
      guard worker.inbox.retries != nil else { return hadMessages.store(worker.inbox.hasWork, ordering: .relaxed) }
      workers.perform(on: worker.index) { look($0) }
    }
    workers.perform(on: rig.services.worker(for: Array("to:0".utf8))) { worker in
      worker.inbox.retryParked(before: .max, ending: 0)
      look(worker)
    }
    #expect(eventually { hadMessages.load(ordering: .relaxed) })
  }

  @Test func `a deferral ends by itself, though its worker has nothing else to do`() throws {
    let rig = try ServerRig(store: MemoryStore(), rules: Self.rules)
    defer { rig.stop() }
    let goesOn = Signal<Bool>()
    rig.workers.perform(on: 0) { worker in
      worker.inbox.deferMessages(of: ["p"])
      worker.inbox.retryParked(before: .max, ending: worker.inbox.deferral)
      if case .again = worker.inbox.applySome() { goesOn.set(true) } else { goesOn.set(false) }
    }
    #expect(goesOn.wait() == true)
  }

  @Test func `an event that was parked but is not yet durable is tried again too`() throws {
    let rules = """
      plugin { name = "p", version = "1" }
      rule "need" { on = "need", run = function() error("closed") end }
      """
    let mended = try ServerRig.catalog(rules.replacing("error(\"closed\")", with: ""))
    let store = FaultyStore(MemoryStore())
    let rig = try ServerRig(store: store, rules: rules)
    defer { rig.stop() }
    let (isSyncing, mayGoOn, hasLooked) = (Signal<Bool>(), Signal<Bool>(), Signal<Bool>())
    let workers = rig.workers
    store.beforeSyncs {
      isSyncing.set(true)
      _ = mayGoOn.wait()
    }
    rig.services.inFlight.wrappingAdd(1, ordering: .relaxed)  // so that the worker leaves the sync to the committer
    let client = rig.client()
    client.send(#"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"need","subject":"s"}}"# + "\n")
    _ = isSyncing.wait()
    @Sendable func look(_ worker: Worker) {
      guard worker.inbox.retries != nil else { return hasLooked.set(true) }
      workers.perform(on: worker.index) { look($0) }
    }
    workers.perform(on: rig.services.worker(for: Array("s".utf8))) { worker in
      worker.evaluator.adopt(mended)
      worker.retryParked()
      look(worker)
    }
    _ = hasLooked.wait()
    mayGoOn.set(true)
    #expect(client.receive(lines: 1).contains("closed"))
    #expect(eventually { rig.services.context.parkedCounts.all.isEmpty })
  }

  @Test func `a message that can't be read delays only its own subject, is logged once, and is applied in order later`()
    throws
  {
    let store = FaultyStore(MemoryStore())
    let settings = Self.small(room: 10, page: 6)
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: settings)
    defer { rig.stop() }
    let client = rig.client()
    store.failReads(beginningWith: StoreKey.prefix(.message, of: "bad"))
    for n in 1...100 {
      client.send(Self.pass(n, from: "a", to: ["bad", "good"], n: n))
      #expect(client.receive(lines: 1).contains("\"version\":\(n)"))
    }
    let numbers = JSONValue.array((1...100).map { .integer($0) })
    #expect(try eventually { try Self.got("good", client)["a"] == numbers })
    #expect(try Self.got("bad", client)["a"] == nil)
    let health = HealthReport(rig.services).json
    #expect(health["messages"]?["held_subjects"] == 1 && health["status"] == "degraded", "\(health.text)")
    #expect(rig.log.lines.count { $0.message.contains("held back, to be tried again") } == 1)
    store.failReads(beginningWith: nil)
    #expect(try eventually { try Self.got("bad", client)["a"] == numbers })
    #expect(eventually { rig.services.messages.waiting == 0 && rig.services.messages.delayedSubjects == 0 })
    #expect(HealthReport(rig.services).json["status"] == "ready")
  }

  @Test func `messages where the store can't read are skipped, and the others are applied from the start`()
    throws
  {
    let store = FaultyStore(MemoryStore())
    let receivers = ["aa", "bad:1", "bad:22", "cc", "user:1", "user:2"]
    try Self.store(
      (0..<300).map { n in (receivers[n % 6], UInt64(n + 1), Self.passed(receivers[n % 6], n)) }, in: store)
    store.failReads(beginningWith: [StoreKey.Kind.message.rawValue] + Array("bad".utf8), byCursor: true)
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: Self.small(room: 10, page: 6))
    defer { rig.stop() }
    rig.services.resumeMessages()
    let client = rig.client()
    func expectAll(_ index: Int) throws {
      let numbers = (0..<300).filter { $0 % 6 == index }.map { JSONValue.integer(Int64($0)) }
      let isThere = try eventually { try Self.got(receivers[index], client)["old"] == .array(numbers) }
      #expect(isThere, "\(receivers[index])")
    }
    for index in [0, 3, 4, 5] { try expectAll(index) }
    for n in 1...20 {
      client.send(Self.pass(n, from: "a", to: ["bad:1", "cc"], n: n))
      #expect(client.receive(lines: 1).contains("\"version\":\(n)"))
    }
    let numbers = JSONValue.array((1...20).map { .integer($0) })
    #expect(try eventually { try Self.got("cc", client)["a"] == numbers })
    #expect(try Self.got("bad:1", client)["a"] == nil)
    #expect(HealthReport(rig.services).json["problems"]?.text.contains("can't be read from the store") == true)
    // Once for each worker.
    #expect(rig.log.lines.count { $0.message.contains("messages can't be read from the store") } <= 2)
    store.failReads(beginningWith: nil)
    for index in [1, 2] { try expectAll(index) }
    #expect(try eventually { try Self.got("bad:1", client)["a"] == numbers })
    #expect(eventually { rig.services.messages.areReadable })
  }

  @Test(arguments: [0.1, 0.35, 0.6])
  func `behind a damaged block other subjects get their messages, and none overtakes one that can't be read`(
    at part: Double
  ) throws {
    let folder = TemporaryFolder()
    let subjects = (10..<50).map { "user:\($0)" }
    let messages = (0..<2_000).map { (subject: subjects[$0 % 40], sequence: UInt64($0 + 1), n: $0 / 40) }
    var random = SeededRandom(seed: 1)
    let store = try RocksStore(path: folder.path)
    try Self.store(
      messages.map { message in
        let noise = (0..<20).map { _ in String(UInt64.random(in: 0 ... .max, using: &random), radix: 16) }.joined()
        let text = Self.passed(message.subject, message.n, more: #","noise":"\#(noise)""#)
        return (message.subject, message.sequence, text)
      }, in: store)
    try store.compact()
    try store.close()
    try Self.flipBit(of: folder, at: part)
    let damaged = try RocksStore(path: folder.path)
    defer { try? damaged.close() }
    var expected: [String: [JSONValue]] = [:]
    var lost: Set<String> = []
    for (subject, sequence, n) in messages {
      let key = StoreKey.bytes { StoreKey.numbered(.message, subject, sequence, into: $0) }
      let isThere = key.withView { (try? damaged.get($0, into: ByteBuffer())) == true }
      if !isThere { lost.insert(subject) }
      if !lost.contains(subject) { expected[subject, default: []].append(.integer(Int64(n))) }
    }
    #expect(!lost.isEmpty && lost.count < 20)
    var settings = MessageInbox.Settings()
    settings.backoff = Backoff(first: 2, longest: 20)
    let rig = try ServerRig(store: damaged, rules: Self.rules, inbox: settings)
    defer { rig.stop() }
    rig.services.resumeMessages()
    let client = rig.client()
    for subject in subjects {
      let all = expected[subject].map { JSONValue.array($0) }
      #expect(try eventually { try Self.got(subject, client)["old"] == all }, "\(subject), lost: \(lost.sorted())")
    }
    #expect(!rig.services.messages.areReadable)
  }

  /// Flips a bit of the largest file of a store.
  private static func flipBit(of folder: TemporaryFolder, at part: Double) throws {
    let files = try Folder.names(folder.path).filter { $0.hasSuffix(".sst") }.map { "\(folder.path)/\($0)" }
    var largest: (path: String, bytes: [UInt8]) = ("", [])
    for path in files {
      let bytes = try RegularFile.read(path, limit: 64 << 20)
      if bytes.count > largest.bytes.count { largest = (path, bytes) }
    }
    largest.bytes[Int(Double(largest.bytes.count) * part)] ^= 0x10
    let file = try #require(fopen(largest.path, "r+"))
    defer { fclose(file) }
    #expect(fwrite(largest.bytes, 1, largest.bytes.count, file) == largest.bytes.count)
  }

  @Test func `a damaged message is parked and reported, and the later ones are applied`() throws {
    let folder = TemporaryFolder()
    let store = try RocksStore(path: folder.path + "/store")
    defer { try? store.close() }
    try Self.store(
      [
        ("s", 1, Self.passed("s", 1)), ("s", 2, #"{"type":"passed","sub"#), ("s", 3, Self.passed("s", 3)),
        ("s", 4, Self.passed("another", 4)), ("s", 5, Self.passed("s", 5)),
      ], in: store)
    let rig = try ServerRig(store: store, rules: Self.rules)
    defer { rig.stop() }
    rig.services.resumeMessages()
    let client = rig.client()
    #expect(try eventually { try Self.got("s", client)["old"] == [1, 3, 5] })
    #expect(eventually { rig.services.messages.waiting == 0 })
    #expect(HealthReport(rig.services).json["messages"]?["damaged"] == 2)
    let parked = try StoreListing.parked(rig.services.context, plugin: "", after: nil, limit: 10).parked
    #expect(parked.count == 2 && parked.allSatisfy { $0["damaged"]?.stringValue?.isEmpty == false }, "\(parked)")
    #expect(rig.log.lines.count { $0.message.contains("set aside") } == 2)
    for entry in parked {
      let key = try #require(entry["id"]?.stringValue.flatMap { ParkedKey(text: $0) })
      rig.services.workers[rig.services.worker(for: key.subject)].send(.evaluate { _ = try? $0.drop(key) })
    }
    #expect(eventually { HealthReport(rig.services).json["status"] == "ready" })
  }

  @Test func `a message that was erased with its subject ends the wait for it, and is no longer counted`() throws {
    let store = FaultyStore(MemoryStore())
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: Self.small(room: 10, page: 6))
    defer { rig.stop() }
    let client = rig.client()
    store.failReads(beginningWith: StoreKey.prefix(.message, of: "bad"))
    let waits = Self.pass(1, from: "a", to: ["bad"], n: 1).replacing(
      "\"id\":\"1\"", with: "\"id\":\"1\",\"wait\":\"cascade\"")
    let other = rig.client()
    other.send(waits)
    #expect(eventually { rig.services.messages.delayedSubjects == 1 })
    client.send(#"{"jsonrpc":"2.0","id":1,"method":"forget","params":{"subject":"bad"}}"# + "\n")
    #expect(client.receive(lines: 1).contains("forgotten"))
    #expect(other.receive(lines: 1).contains("\"version\":1"))
    #expect(eventually { rig.services.messages.waiting == 0 })
  }

  @Test func `a message that was found erased is applied if the erasure is lost`() throws {
    let store = FaultyStore(MemoryStore())
    let rig = try ServerRig(store: store, rules: Self.rules, inbox: Self.small(room: 10, page: 6))
    defer { rig.stop() }
    let subject = Array("to".utf8)
    rig.workers.perform(on: rig.services.worker(for: subject)) { worker in
      try? Self.store([("to", 1, Self.passed("to", 1))], in: store)
      store.failCommit(1)
      try? worker.evaluator.forget("to")
      worker.inbox.add([.init(subject: subject, sequence: 1)])
      _ = worker.inbox.applySome()
    }
    let client = rig.client()
    #expect(try eventually { try Self.got("to", client)["old"] == [1] })
  }

  @Test func `a reply does not wait for more messages than the limit, and says that they are pending`() throws {
    var settings = MessageInbox.Settings()
    settings.awaitedLimit = 0
    let rig = try ServerRig(rules: Self.rules, inbox: settings)
    defer { rig.stop() }
    let client = rig.client()
    let line = Self.pass(1, from: "a", to: ["b"], n: 1)
    client.send(line.replacing("\"id\":\"1\"", with: "\"id\":\"1\",\"wait\":\"cascade\""))
    #expect(client.receive(lines: 1).hasSuffix(#""failures":[],"cascade":"pending"}}"# + "\n"))
    #expect(try eventually { try Self.got("b", client)["a"] == [1] })
    client.send(line.replacing("\"id\":\"1\"", with: "\"id\":\"1\",\"wait\":\"cascade\""))
    #expect(client.receive(lines: 1).contains(#""duplicate":true"#))
  }
}
