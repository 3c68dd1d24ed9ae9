import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledThreads
import StoreTestSupport
import TestSupport
import Testing

@testable import RuledServer

/// A follower's part of the engine, with an owner that speaks frames.
struct ShareSessionTests {
  /// A node with its own store, and its owner.
  private final class Rig {
    let folder = TemporaryFolder()
    let store: FaultyStore
    let rocks: RocksStore
    let log: PlayedLog
    let owner: FakeOwner
    let lines = RecordingLog()
    let share: FollowerShare
    private let thread: Thread

    static let rules = """
      plugin { name = "p", version = "1" }
      rule "add" { on = "add", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("n", state.n)
      end }
      rule "tell" { on = "tell", run = function(event)
        count("p.told")
        for _, to in ipairs(event.data.to) do send(to, "add", {}) end
      end }
      rule "later" { on = "later", run = function(event) timer.set("t", event.data.at, "add", {}) end }
      query "n" (function(state) return { n = state and state.n or 0 } end)
      """

    init() throws {
      rocks = try RocksStore(path: folder.path + "/store")
      store = FaultyStore(rocks)
      log = PlayedLog(store)
      owner = try FakeOwner(log)
      try Self.put(rules: Self.rules, into: log)
      var configuration = Configuration()
      configuration.workers = 2
      let node = EvaluatingNode(
        name: "node", incarnation: "i1", configuration: configuration, workers: 2, playback: log.playback, log: lines)
      share = FollowerShare(node)
      thread = try share.start()
      share.use(owner.route())
    }

    /// Puts rules in force.
    static func put(rules: String, into log: PlayedLog) throws {
      let writes = WriteSet()
      LiveRules.put(RevisionArchive.Revision(try ServerRig.catalog(rules), from: .folder), into: writes)
      log.commit(writes)
    }

    /// Lends the node all partitions but those of some subjects.
    func grant(but others: [String] = [], after: Int64? = nil) {
      var partitions = PartitionSet((0..<256).map { Partition(UInt8($0)) })
      partitions.subtract(Self.partitions(others))
      let after = after ?? log.position
      let granted = partitions
      owner.send(.grant(granted, after: after, sequence: 1 << 60))
    }

    static func partitions(_ subjects: [String]) -> PartitionSet {
      PartitionSet(subjects.map { Partition(of: Array($0.utf8)) })
    }

    /// Waits until the node has joined.
    func awaitJoin(_ count: Int = 1) -> Bool {
      eventually { owner.received.pings > 0 && owner.received.joins.count == count }
    }

    func stop() throws {
      share.stop()
      thread.join()
      owner.stop()
      try rocks.close()
    }
  }

  @Test func `replies about lent subjects come with the commit, and reads of it wait for its playback`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    let live = try LiveRules.revision(in: rig.store)
    #expect(rig.owner.received.joins == [ShareJoin(node: "node", incarnation: "i1", revision: live)])
    rig.grant()
    rig.owner.event(1, "add", "s1")
    #expect(try rig.owner.reply(to: 1)["result"]?["decisions"]?["p"]?["n"] == 1)
    rig.log.hold()
    rig.owner.event(2, "add", "s1")
    rig.owner.event(3, "add", "s2")
    #expect(try rig.owner.reply(to: 2)["result"]?["decisions"]?["p"]?["n"] == 2)
    rig.owner.request(
      7, #"{"jsonrpc":"2.0","id":7,"method":"query","params":{"subject":"s1","name":"p.n"}}"#)
    rig.owner.request(4, #"{"jsonrpc":"2.0","id":4,"method":"rules","params":{}}"#)
    #expect(try rig.owner.reply(to: 4)["result"] != nil)
    #expect(rig.owner.received.replies[7] == nil)
    rig.log.play()
    #expect(try rig.owner.reply(to: 7)["result"]?["n"] == 2)
    #expect(try rig.owner.reply(to: 3)["result"]?["decisions"]?["p"]?["n"] == 1)
    rig.owner.request(5, #"{"jsonrpc":"2.0","method":"event","params":{"type":"add","subject":"s1","id":"x"}}"#)
    #expect(eventually { rig.owner.received.replies[5] == "" })
    rig.owner.event(2, "add", "s1")
    #expect(try rig.owner.reply(to: 2)["result"]?["duplicate"] != nil)
    rig.owner.request(
      6, #"{"jsonrpc":"2.0","id":6,"method":"query","params":{"subject":"s1","name":"p.n"}}"#, isInBatch: true)
    #expect(try rig.owner.reply(to: 6)["result"]?["n"] == 3)
    #expect(
      rig.owner.received.replies[6]?.hasSuffix("\n") == false && rig.owner.received.replies[2]?.hasSuffix("\n") == true)
    let counts = ShareCounts(
      events: 5, queries: 2, duplicates: 1, plugins: [PluginTally(name: "p", runs: 4)])
    #expect(eventually { rig.owner.received.counts == counts })
    #expect(rig.owner.received.submissions.reduce(0) { $0 + $1.batch.changes.count } == 4)
    try rig.stop()
  }

  @Test func `what comes behind a grant waits until the log is played back that far`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant(but: ["s1"])
    rig.owner.event(1, "add", "s2")
    #expect(try rig.owner.reply(to: 1)["result"] != nil)
    rig.log.hold()
    let writes = WriteSet()
    Array("unrelated".utf8).withView { writes.put($0, $0) }
    rig.grant(after: rig.log.commit(writes))
    rig.owner.event(2, "add", "s1")
    rig.owner.send(.release(move: 9, Rig.partitions(["s1"])))
    let pings = rig.owner.received.pings
    #expect(eventually { rig.owner.received.pings > pings + 1 })
    #expect(rig.owner.received.submissions.count == 1 && rig.owner.received.released.isEmpty)
    rig.log.play()
    #expect(try rig.owner.reply(to: 2)["result"]?["decisions"]?["p"]?["n"] == 1)
    #expect(eventually { rig.owner.received.released[9] != nil })
    try rig.stop()
  }

  @Test func `partitions that go leave after all that came for them, and come back with what others did`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant()
    for number: UInt64 in 1...20 { rig.owner.event(number, "add", "s\(number % 4)") }
    rig.owner.send(.release(move: 1, Rig.partitions(["s0", "s1", "s2", "s3"])))
    #expect(eventually { rig.owner.received.released[1] != nil })
    #expect(rig.owner.received.replies.count == 20)
    #expect(rig.owner.received.order.last == "released")
    #expect(rig.owner.received.released[1] ?? 0 >= 1 << 60)
    rig.owner.event(21, "add", "s1")
    #expect(try rig.owner.reply(to: 21)["error"]?["data"]?["code"] == "unavailable")
    // Another node forgets the subject.
    let writes = WriteSet()
    let record = StoreKey.bytes { StoreKey.subjectPrefix(.record, "s1", into: $0) }
    try rig.store.scan(prefix: record) { key, _ in
      writes.delete(key)
      return true
    }
    #expect(!writes.isEmpty)
    rig.grant(after: rig.log.commit(writes))
    rig.owner.event(22, "add", "s1")
    rig.owner.event(23, "add", "s2")
    #expect(try rig.owner.reply(to: 22)["result"]?["decisions"]?["p"]?["n"] == 1)
    #expect(try rig.owner.reply(to: 23)["result"]?["decisions"]?["p"]?["n"] == 6)
    try rig.stop()
  }

  @Test func `messages for other nodes leave with the submission, and their cascades end when the owner says so`()
    throws
  {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant(but: ["far"])
    rig.owner.request(1, Self.tell(1, to: ["far", "near"], waits: true))
    #expect(eventually { !rig.owner.received.submissions.isEmpty })
    rig.owner.request(2, Self.tell(2, to: ["far"], waits: true))
    rig.owner.request(3, Self.tell(3, to: ["near"], waits: true))
    rig.owner.request(4, Self.tell(4, to: ["far"], waits: false))
    let whole = try rig.owner.reply(to: 3)["result"]
    #expect(whole != nil && whole?["cascade"] == nil)
    #expect(try rig.owner.reply(to: 4)["result"] != nil)
    #expect(
      eventually {
        rig.owner.received.submissions.flatMap(\.batch.counters).map(\.amount.double).reduce(0, +) == 4
      })
    let sent = rig.owner.received.submissions.flatMap { submission in
      zip(submission.batch.messages, submission.cascades).map { (String(decoding: $0.0.subject, as: UTF8.self), $0.1) }
    }
    let far = sent.filter { $0.0 == "far" }.map(\.1)
    #expect(far.count == 3 && far.count { $0 == 0 } == 1)
    #expect(sent.filter { $0.0 == "near" }.allSatisfy { $0.1 == 0 })
    #expect(rig.owner.received.replies[1] == nil && rig.owner.received.replies[2] == nil)
    let numbers = far.filter { $0 != 0 }
    rig.owner.send(.ended(number: numbers[0], isWhole: true))
    let first = try rig.owner.reply(to: 1)["result"]
    #expect(first != nil && first?["cascade"] == nil)
    rig.owner.send(.ended(number: numbers[1], isWhole: false))
    #expect(try rig.owner.reply(to: 2)["result"]?["cascade"] == "pending")
    try rig.stop()
  }

  @Test func `a cascade whose subject leaves is not waited for any longer`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant()
    let record = StoreKey.bytes { StoreKey.subjectPrefix(.record, "near", into: $0) }
    rig.store.failReads(beginningWith: record)
    rig.owner.request(1, Self.tell(1, to: ["near"], waits: true))
    #expect(eventually { rig.lines.text.contains("held back") })
    #expect(rig.owner.received.replies[1] == nil)
    rig.owner.send(.release(move: 1, Rig.partitions(["near"])))
    #expect(eventually { rig.owner.received.released[1] != nil })
    #expect(try rig.owner.reply(to: 1)["result"]?["cascade"] == "pending")
    rig.store.failReads(beginningWith: nil)
    try rig.stop()
  }

  private static func tell(_ number: UInt64, to: [String], waits: Bool) -> String {
    let names = to.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"jsonrpc":"2.0","id":\#(number),"method":"event","params":{"type":"tell","subject":"teller\#(number)","#
      + #""id":"\#(number)","data":{"to":[\#(names)]}\#(waits ? #","wait":"cascade""# : "")}}"#
  }

  @Test func `messages and timers from the owner are applied once, and it hears when their cascades end`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant(but: ["far"])
    let writes = WriteSet()
    for (subject, number) in [("s1", UInt64(7)), ("far", 8)] {
      let key = StoreKey.bytes { StoreKey.message(subject, sequence: number, into: $0) }
      let text = #"{"type":"add","subject":"\#(subject)","id":"m\#(number)","data":{},"sent_by":"p"}"#
      key.withView { key in Array(text.utf8).withView { writes.put(key, $0) } }
    }
    rig.log.hold()
    let after = rig.log.commit(writes)
    let messages = [
      SharedMessage(subject: Array("s1".utf8), sequence: 7, plugin: "p", cascade: 1),
      SharedMessage(subject: Array("far".utf8), sequence: 8, plugin: "p", cascade: 2),
      SharedMessage(subject: Array("s1".utf8), sequence: 7, plugin: "p", cascade: 0),
    ]
    rig.owner.send(.messages(after: after, messages))
    rig.owner.event(1, "other", "s2")  // does not wait for the messages
    #expect(eventually { rig.owner.received.submissions.count == 1 })
    rig.log.play()
    #expect(eventually { rig.owner.received.ended == [1: true, 2: false] })
    rig.owner.event(2, "later", "s1", #","data":{"at":1600000000}"#)
    #expect(try rig.owner.reply(to: 2)["result"] != nil)
    let due = try #require(rig.owner.received.submissions.compactMap(\.batch.earliestTimer).first)
    let timer = DueTimer(due: due, subject: Array("s1".utf8), plugin: Array("p".utf8), name: Array("t".utf8))
    rig.owner.send(.fire(number: 3, timer))
    #expect(eventually { rig.owner.received.ended[3] == true })
    rig.owner.send(
      .fire(number: 4, DueTimer(due: due, subject: Array("far".utf8), plugin: timer.plugin, name: timer.name)))
    #expect(eventually { rig.owner.received.ended[4] != nil })
    rig.owner.event(3, "add", "s1")
    #expect(try rig.owner.reply(to: 3)["result"]?["decisions"]?["p"]?["n"] == 3)
    try rig.stop()
  }

  @Test func `a timer that can't fire is reported`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant()
    rig.store.failReads(beginningWith: StoreKey.bytes { StoreKey.subjectPrefix(.record, "s1", into: $0) })
    let timer = DueTimer(due: 1, subject: Array("s1".utf8), plugin: Array("p".utf8), name: Array("t".utf8))
    rig.owner.send(.fire(number: 1, timer))
    #expect(eventually { rig.owner.received.failedTimers == [timer] && rig.owner.received.ended[1] != nil })
    rig.store.failReads(beginningWith: nil)
    try rig.stop()
  }

  @Test func `a lost round is refused, and the next one is taken`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant()
    rig.owner.answer(rounds: .lost)
    for number: UInt64 in 1...10 { rig.owner.event(number, "add", "s\(number % 3)") }
    for number: UInt64 in 1...10 {
      #expect(try rig.owner.reply(to: number)["error"]?["data"]?["code"] == "unavailable")
    }
    rig.owner.answer(rounds: .durable)
    var number: UInt64 = 10
    #expect(
      try eventually {
        number += 1
        rig.owner.event(number, "add", "s1")
        return try rig.owner.reply(to: number)["result"]?["decisions"]?["p"]?["n"] == 1
      })
    try rig.stop()
  }

  @Test func `reads are answered as long as the owner confirms`() throws {
    let rig = try Rig()
    rig.owner.confirm(for: 0)
    try #require(rig.awaitJoin())
    rig.grant()
    rig.owner.request(1, #"{"jsonrpc":"2.0","id":1,"method":"query","params":{"subject":"s1","name":"p.n"}}"#)
    #expect(try rig.owner.reply(to: 1)["error"]?["data"]?["code"] == "unavailable")
    rig.owner.event(2, "add", "s1")
    #expect(try rig.owner.reply(to: 2)["result"] != nil)
    rig.owner.confirm(for: 60_000_000_000)
    let pings = rig.owner.received.pings
    #expect(eventually { rig.owner.received.pings > pings + 1 })
    rig.owner.request(3, #"{"jsonrpc":"2.0","id":3,"method":"query","params":{"subject":"s1","name":"p.n"}}"#)
    #expect(try rig.owner.reply(to: 3)["result"]?["n"] == 1)
    try rig.stop()
  }

  @Test func `a session that ends with a round under way leaves nothing behind, and the node joins again`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    rig.grant()
    rig.owner.answer(rounds: nil)
    for number: UInt64 in 1...4 { rig.owner.event(number, "add", "s\(number)") }
    #expect(eventually { !rig.owner.received.submissions.isEmpty })
    rig.owner.farewell("another rest")
    #expect(eventually { rig.owner.received.joins.count == 2 })
    #expect(rig.owner.received.replies.isEmpty)
    #expect(rig.lines.text.contains("evaluates no longer for node owner") && rig.lines.text.contains("another rest"))
    rig.owner.answer(rounds: .durable)
    rig.grant()
    rig.owner.event(5, "add", "s1")
    #expect(try rig.owner.reply(to: 5)["result"]?["decisions"]?["p"]?["n"] == 1)
    try rig.stop()
  }

  @Test func `a node takes part as long as it has a route, with the rules in force`() throws {
    let rig = try Rig()
    try #require(rig.awaitJoin())
    try Rig.put(rules: Rig.rules + "\n-- another", into: rig.log)
    #expect(eventually { rig.owner.received.joins.count == 2 })
    let joins = rig.owner.received.joins
    #expect(joins[1].revision == (try LiveRules.revision(in: rig.store)) && joins[1].revision != joins[0].revision)
    #expect(rig.owner.received.ends.count == 1 && rig.owner.received.ends[0].contains("of the rules is in force now"))
    rig.owner.accept(false)
    rig.share.use(nil)
    #expect(eventually { rig.owner.received.ends.count == 2 })
    rig.share.use(rig.owner.route())
    #expect(eventually { rig.lines.lines.contains { $0.message.contains("evaluate for node owner: it is not there") } })
    rig.owner.accept(true)
    #expect(eventually { rig.owner.received.joins.count == 3 })
    try rig.stop()
    #expect(rig.lines.lines.count { $0.message.contains("it is not there") } == 1)
  }
}
