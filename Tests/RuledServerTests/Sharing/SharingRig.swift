import Glibc
import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledThreads
import StoreTestSupport
import Synchronization

@testable import RuledServer

/// An owner of a log that lends subjects, and a node that evaluates for it, in one process: what the owner commits is copied to the node's store.
final class SharingRig {
  /// The owner's store, whose commits are played back into the node's after `delay`.
  final class Log: StateStore {
    let store: any StateStore
    let copy = FaultyStore(MemoryStore())
    private let played = Mutex<(last: Int64, waiting: [(Int64, @Sendable () -> Void)])>((0, []))
    private let observer = Mutex<Observer?>(nil)

    private struct Observer {
      let body: @Sendable (WriteSet) -> Void
    }

    /// For how many milliseconds the thread that lends is next held up.
    let stall = Atomic<UInt32>(0)

    init(_ store: any StateStore) { self.store = store }

    func leaseLeft() -> Int {
      usleep(stall.exchange(0, ordering: .relaxed) * 1000)
      return 10_000
    }

    var position: Int64 { played.withLock { $0.last } }

    func whenPlayed(_ position: Int64, _ body: @escaping @Sendable () -> Void) {
      let isPlayed = played.withLock { played in
        if played.last < position { played.waiting.append((position, body)) }
        return played.last >= position
      }
      if isPlayed { body() }
    }

    func awaitPlayed(_ position: Int64) { while self.position < position { usleep(1_000) } }

    func observe(_ body: (@Sendable (WriteSet) -> Void)?) { observer.withLock { $0 = body.map { Observer(body: $0) } } }

    private func play(_ set: WriteSet) {
      // swift-format-ignore: NeverUseForceTry
      try! copy.commit(set, durable: true)
      observer.withLock { $0 }?.body(set)
      let ready = played.withLock { played in
        played.last += 1
        let last = played.last
        defer { played.waiting.removeAll { $0.0 <= last } }
        return played.waiting.filter { $0.0 <= last }
      }
      for (_, body) in ready { body() }
    }

    var name: String { store.name }
    var approximateBytes: Int { store.approximateBytes }
    var disk: StoreDisk? { store.disk }
    var state: StoreState { store.state }
    var committedSequence: UInt64 { store.committedSequence }
    var problem: StoreError? { store.problem }
    func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool { try store.get(key, into: buffer) }
    func withCursor(
      below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
    ) throws(StoreError) { try store.withCursor(below: upper, body) }
    func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
      try store.commit(set, durable: durable)
      play(set)
    }
    func append(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
      guard let number = try store.append(set, isCommitted: isCommitted) else { return nil }
      play(set)
      return number
    }
    func makeRoom(for byteCount: Int) throws(StoreError) { try store.makeRoom(for: byteCount) }
    func sync() throws(StoreError) -> UInt64 { try store.sync() }
    func reopen() throws(StoreError) { try store.reopen() }
    func checkpoint(to path: String) throws(StoreError) { try store.checkpoint(to: path) }
    func expire(before cutoff: Int64) { store.expire(before: cutoff) }
    func close() throws(StoreError) { try store.close() }
  }

  let owner: ServerRig
  let lending: Lending
  let log: Log
  let share: FollowerShare
  let nodeLog = RecordingLog()
  private var threads: [Thread] = []

  /// Starts both; the node joins by itself.
  init(
    rules: String = ServerRig.rules, store: any StateStore = MemoryStore(), clock: EngineClock = EngineClock(),
    mostReplyBytes: Int = ShareFrame.mostItemBytes, clients: OwnClients? = nil,
    configure: (inout Configuration) -> Void = { _ in }
  ) throws {
    let log = Log(store)
    self.log = log
    let lending = Lending(position: { log.position }, leaseLeft: { log.leaseLeft() })
    self.lending = lending
    let catalog = try ServerRig.catalog(rules)
    let set = WriteSet(capacity: 4096)
    LiveRules.put(.init(catalog, from: .folder), into: set)
    try log.commit(set, durable: true)
    let shares = Shares.ofOwner()
    owner = try ServerRig(
      store: log, rules: rules, clock: clock, shares: shares, lending: lending, configure: configure)
    let services = owner.services
    threads.append(
      try Thread.start(name: "shares") {
        do throws(SystemError) { try SharesService.run(services, shares, lending) } catch { fatalError("\(error)") }
      })
    var configuration = Configuration()
    configure(&configuration)
    var node = EvaluatingNode(
      name: "b", incarnation: "1", configuration: configuration, workers: 2, clients: clients,
      playback: .init(
        store: log.copy, position: { log.position }, whenPlayed: { log.whenPlayed($0, $1) },
        awaitPlayed: { log.awaitPlayed($0) }, observe: { log.observe($0) }),
      log: nodeLog)
    node.mostReplyBytes = mostReplyBytes
    share = FollowerShare(node)
    threads.append(try share.start())
    join()
  }

  /// Lets the node reach the owner.
  func join() {
    let lending = lending
    share.use(
      .init(owner: "a", id: ObjectIdentifier(lending)) { done in
        let (near, far) = PlainSocket.pair()
        lending.adopt(near)
        done(.success(far))
      })
  }

  /// Cuts the node off.
  func leave() { share.use(nil) }

  /// How many partitions the node evaluates.
  var lent: Int { lending.overview.nodes["b"] ?? 0 }

  /// Ends all threads.
  func stop() {
    share.stop()
    _ = lending.commands.send(.end)
    for thread in threads { thread.join() }
    owner.stop()
  }
}
