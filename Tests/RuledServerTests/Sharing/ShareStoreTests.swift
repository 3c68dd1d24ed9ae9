import RuledCore
import RuledEngine
import RuledStore
import RuledThreads
import Synchronization
import Testing

@testable import RuledServer

/// Rounds of submissions, with an owner that answers when the test says so.
struct ShareStoreTests {
  /// A store with an owner.
  private final class Rig: Sendable {
    let log = PlayedLog(MemoryStore())
    let shares = Shares.ofOther()
    let rounds: Rounds
    let store: ShareStore

    final class Rounds: Sendable {
      let sent = Mutex<[(round: UInt64, submissions: [SharedSubmission])]>([])
    }

    init() {
      let rounds = Rounds()
      self.rounds = rounds
      store = ShareStore(log.playback, shares: shares) { round, submissions in
        rounds.sent.withLock { $0.append((round, submissions)) }
      }
    }

    /// The texts that the submissions of the rounds put, by round.
    var texts: [[String]] { rounds.sent.withLock { $0.map { $0.submissions.map { ShareStoreTests.text($0.batch) } } } }

    /// Syncs on another thread.
    func sync() throws -> Signal<Result<UInt64, StoreError>> {
      let result = Signal<Result<UInt64, StoreError>>()
      let store = store
      _ = try Thread(name: "sync") {
        do throws(StoreError) { result.set(.success(try store.sync())) } catch { result.set(.failure(error)) }
      }
      return result
    }

    /// Whether so many rounds were sent.
    func hasSent(_ count: Int) -> Bool { eventually { rounds.sent.withLock { $0.count } == count } }
  }

  /// A submission that puts `text` under a key of its own.
  private static func submission(_ text: String) -> Submission {
    let batch = CommitBatch(number: 1)
    Array("k\(text)".utf8).withView { key in Array(text.utf8).withView { batch.writes.put(key, $0) } }
    return Submission(batch)
  }

  private static func text(_ batch: CommitBatch) -> String {
    var text = ""
    batch.writes.forEach { if case .put(_, let value) = $0 { text += String(decoding: value, as: UTF8.self) } }
    return text
  }

  private static func error(_ body: () throws(StoreError) -> Void) -> StoreError? {
    do throws(StoreError) { try body() } catch { return error }
    return nil
  }

  @Test func `a round is complete once it is durable and played back, and the next one grows meanwhile`() throws {
    let rig = Rig()
    #expect(try rig.store.append(Self.submission("a")) == 1)
    #expect(try rig.store.append(Self.submission("b")) == 2)
    let first = try rig.sync()
    try #require(rig.hasSent(1))
    #expect(try rig.store.append(Self.submission("c")) == 3)
    let second = try rig.sync()
    rig.log.hold()
    let after = rig.log.commit(Self.submission("a").batch.writes)
    rig.store.answer(7, .durable, after: 0)  // no round of this number is under way
    #expect(rig.store.committedSequence == 0)
    rig.store.answer(1, .durable, after: after)
    #expect(rig.store.committedSequence == 0)
    #expect(rig.texts == [["a", "b"]])
    rig.log.play()
    #expect(try first.wait().get() == 2)
    #expect(rig.store.committedSequence == 2)
    try #require(rig.hasSent(2))
    #expect(rig.texts == [["a", "b"], ["c"]])
    rig.store.answer(2, .durable, after: after)
    #expect(try second.wait().get() == 3)
    #expect(try rig.store.sync() == 3)  // there is nothing to send
    #expect(rig.texts.count == 2)
    let value = ByteBuffer()
    #expect(try Array("ka".utf8).withView { (key) throws(StoreError) in try rig.store.get(key, into: value) })
  }

  @Test func `a lost round takes what was appended after it along, until the store is opened again`() throws {
    let rig = Rig()
    _ = try rig.store.append(Self.submission("a"))
    let round = try rig.sync()
    try #require(rig.hasSent(1))
    _ = try rig.store.append(Self.submission("b"))
    rig.store.answer(1, .lost, after: 0)
    guard case .failure(let error) = round.wait() else {
      Issue.record("a lost round succeeded")
      return
    }
    #expect(!error.isOutcomeUnknown && error.code == .refused)
    let refusal = Self.error { () throws(StoreError) in _ = try rig.store.append(Self.submission("c")) }
    #expect(refusal?.code == .poisoned && refusal?.isOutcomeUnknown == false)
    try rig.store.reopen()
    #expect(rig.store.state.failure == nil)
    _ = try rig.store.append(Self.submission("d"))
    let next = try rig.sync()
    try #require(rig.hasSent(2))
    #expect(rig.texts == [["a"], ["d"]])
    rig.store.answer(2, .unknown, after: 0)
    guard case .failure(let unknown) = next.wait() else {
      Issue.record("a round of unknown result succeeded")
      return
    }
    #expect(unknown.isOutcomeUnknown)
  }

  @Test(arguments: [false, true])
  func `the end of the share leaves the round under way unknown, and the store fails for good`(isDurable: Bool) throws {
    let rig = Rig()
    _ = try rig.store.append(Self.submission("a"))
    let round = try rig.sync()
    try #require(rig.hasSent(1))
    if isDurable { rig.store.answer(1, .durable, after: 3) }  // which is never played back
    rig.store.fail("the test ends it")
    guard case .failure(let error) = round.wait() else {
      Issue.record("a round succeeded that nobody answered")
      return
    }
    #expect(error.isOutcomeUnknown)
    #expect(
      Self.error { () throws(StoreError) in try rig.store.reopen() }?.message.contains("the test ends it") == true)
    #expect(Self.error { () throws(StoreError) in try rig.store.sync() }?.isOutcomeUnknown == true)
  }

  @Test func `what was not sent when the share ends is lost for certain`() throws {
    let rig = Rig()
    _ = try rig.store.append(Self.submission("a"))
    rig.store.fail("the test ends it")
    let error = Self.error { () throws(StoreError) in try rig.store.sync() }
    #expect(error?.isOutcomeUnknown == false && error?.code == .poisoned)
    #expect(rig.texts.isEmpty)
  }

  @Test func `a round that is full waits for the one before`() throws {
    let rig = Rig()
    let large = String(repeating: "x", count: 5 << 20)
    #expect(try rig.store.append(Self.submission(large)) == 1)
    #expect(try rig.store.append(Self.submission(large)) == nil)
    let round = try rig.sync()
    try #require(rig.hasSent(1))
    #expect(try rig.store.append(Self.submission(large)) == 2)
    rig.store.answer(1, .durable, after: 0)
    #expect(try round.wait().get() == 1)
  }

  @Test func `a node commits nothing without a submission`() {
    let rig = Rig()
    let writes = Self.submission("a").batch.writes
    let errors = [
      Self.error { () throws(StoreError) in try rig.store.commit(writes, durable: true) },
      Self.error { () throws(StoreError) in _ = try rig.store.append(writes, isCommitted: false) },
      Self.error { () throws(StoreError) in try rig.store.checkpoint(to: "/nowhere") },
    ]
    #expect(errors.allSatisfy { $0?.code == .unsupported })
    #expect(rig.store.state.failure == nil)
  }

  // MARK: Cascades

  /// How cascades have ended, by name.
  private final class Ends: Sendable {
    private let ends = Mutex<[String: Bool]>([:])

    var all: [String: Bool] { ends.withLock { $0 } }

    func cascade(_ name: String) -> Cascade { Cascade { isWhole in self.ends.withLock { $0[name] = isWhole } } }
  }

  /// A submission with a message in each of these cascades.
  private static func messages(_ messages: [(subject: String, cascade: Cascade?)]) -> Submission {
    let submission = submission("m")
    for (index, message) in messages.enumerated() {
      submission.batch.messages.append(
        CommitBatch.Message(subject: Array(message.subject.utf8), sequence: UInt64(index + 1), cascade: message.cascade)
      )
    }
    return submission
  }

  @Test func `cascades of messages that others apply have numbers until the owner ends them`() throws {
    let rig = Rig()
    let ends = Ends()
    rig.shares.assign(PartitionSet([Partition(of: Array("here".utf8))]), to: nil)
    try #require(Partition(of: Array("here".utf8)) != Partition(of: Array("there".utf8)))
    let submission = Self.messages([
      ("here", ends.cascade("own")), ("there", ends.cascade("first")), ("there", nil),
      ("there", ends.cascade("second")),
      ("there", ends.cascade("third")),
    ])
    _ = try rig.store.append(submission)
    let round = try rig.sync()
    try #require(rig.hasSent(1))
    #expect(rig.rounds.sent.withLock { $0[0].submissions[0].cascades } == [0, 1, 0, 2, 3])
    #expect(submission.batch.messages.map { $0.cascade != nil } == [true, false, false, false, false])
    rig.store.answer(1, .durable, after: 0)
    _ = try round.wait().get()
    #expect(ends.all.isEmpty)
    rig.store.endCascade(2, isWhole: true)
    rig.store.endCascade(1, isWhole: false)
    rig.store.endCascade(1, isWhole: true)
    #expect(ends.all == ["first": false, "second": true])
    rig.store.fail("the test ends it")
    #expect(ends.all == ["first": false, "second": true, "third": false])
  }

  @Test func `a lost round forgets its cascades`() throws {
    let rig = Rig()
    let ends = Ends()
    _ = try rig.store.append(Self.messages([("there", ends.cascade("sent"))]))
    let round = try rig.sync()
    try #require(rig.hasSent(1))
    _ = try rig.store.append(Self.messages([("there", ends.cascade("waiting"))]))
    rig.store.answer(1, .lost, after: 0)
    _ = round.wait()
    #expect(ends.all == ["sent": true, "waiting": true])
    rig.store.endCascade(1, isWhole: false)
    rig.store.endCascade(2, isWhole: false)
    #expect(ends.all == ["sent": true, "waiting": true])
  }
}
