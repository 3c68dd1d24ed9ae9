import CLuaBridge
package import RuledCore
package import RuledLua
package import RuledStore

/// Evaluates the events of one worker's subjects: finds the state, runs the rules, and adds what came of it to the batch to be committed.
///
/// It belongs to one thread. Whoever owns it commits the batches: it takes one with `takeBatch`, and says with `finished` what became of it.
/// Until then what was evaluated counts for later events of the same subjects, and replies wait.
package final class Evaluator {
  /// How many recent events a record remembers itself.
  static let recentEvents = 16
  /// How many events may follow from one within a commit.
  static let queueLimit = 1024

  /// What all workers share.
  package let context: EngineContext
  /// The rules in force.
  package private(set) var catalog: Catalog
  /// The batch that collects.
  package private(set) var batch = CommitBatch(number: 1)
  /// Batches to reuse.
  private var spareBatches: [CommitBatch] = []
  private static let mostSpareBatches = 8

  let lua: LuaWorker
  /// Gathers which lines of the rules run, while their tests want to know.
  var coverage: Coverage?
  var machines: [PluginVM?]
  let cache: SubjectCache
  private(set) var inFlight: [CommitBatch] = []
  private(set) var durable: UInt64 = 0
  private var listeners = ListenerTable()

  // The event at hand.
  var event: EventInput?
  var subject: Subject?
  var turns: [Turn]
  var touched: [Int] = []
  var queue: [QueuedEvent] = []
  let queueBytes = ByteBuffer(capacity: 1024)
  let states = ByteBuffer(capacity: 4096)
  let seenTexts = ByteBuffer(capacity: 256)
  let trace = ByteBuffer(capacity: 256)
  var effectIDs: [[UInt8]] = []
  var samples: UInt64 = 0
  /// The plugin that runs although it is suspended, as a retry was asked for.
  var resumes: Int?
  /// Further events that a retried plugin sees with the first.
  var retried: [[UInt8]] = []
  /// Why the retried plugin failed again.
  var failedRetry: Failure?
  /// Whether what is asked at the moment is answered once all that was evaluated is committed.
  var answersWait = false
  /// Why the store could not answer what a rule asked; the call at hand then fails whole.
  var storeFailure: RequestError?

  // Room that is used again and again.
  let key = ByteBuffer(capacity: 320)
  let value = ByteBuffer(capacity: 1024)
  let record = ByteBuffer(capacity: 1024)
  let decisions = ByteBuffer(capacity: 512)
  let effects = ByteBuffer(capacity: 512)
  let failures = ByteBuffer(capacity: 256)
  var recent: [RecentEvent] = []
  var moved: [RecentEvent] = []
  let raisedDocument = EventDocument()
  let messageDocument = EventDocument()

  /// An evaluator for the calling thread, whose hot subjects may take `cacheBytes`.
  package init(context: EngineContext, catalog: Catalog, lua: LuaWorker, cacheBytes: Int) {
    self.context = context
    self.catalog = catalog
    self.lua = lua
    cache = SubjectCache(limit: cacheBytes)
    machines = Array(repeating: nil, count: catalog.plugins.count)
    turns = catalog.plugins.map { Turn($0) }
  }

  /// Runs `body` on the thread of `other`, which may use this one in there.
  package func lent(to other: Evaluator, _ body: () -> Void) { lua.lent(to: other.lua, body) }

  // MARK: Rules

  /// Puts other rules in force, from the next event on; machines of plugins that did not change go on.
  package func adopt(_ next: Catalog) {
    var kept: [UInt64: PluginVM] = [:]
    for (index, plugin) in catalog.plugins.enumerated() {
      if let machine = machines[index] { kept[plugin.generation] = machine }
    }
    catalog = next
    machines = next.plugins.map { kept[$0.generation] }
    turns = next.plugins.map { Turn($0) }
    listeners = ListenerTable()
  }

  /// Which plugins hear a type, and with which rules.
  func listeners(to type: UnsafeRawBufferPointer) -> Listeners {
    let hash = hash64(type)
    if let known = listeners.find(type, hash: hash) { return known }
    let found = Listeners(
      type: Array(type), hash: hash, plugins: catalog.listeners(to: String(decoding: type, as: UTF8.self)))
    listeners.insert(found)
    return found
  }

  /// The machine of a plugin; when there is none or the last one was left, one that was built ahead, or else a new one.
  func machine(_ plugin: Int) throws(LoadError) -> PluginVM {
    if let machine = machines[plugin], !machine.isDead { return machine }
    let entry = catalog.plugins[plugin]
    let machine: PluginVM
    if coverage == nil, let ready = entry.machines.take(for: lua) {
      machine = ready
    } else {
      machine = try PluginVM(source: entry.source, settings: entry.overrides, worker: lua, covering: coverage)
    }
    machine.host = self
    machines[plugin] = machine
    return machine
  }

  // MARK: Turns

  /// Calls `body` with a plugin's turn; `turns` holds on to it meanwhile, so that no reference is counted.
  @inline(__always)
  func withTurn<Result>(of plugin: Int, _ body: (Turn) -> Result) -> Result {
    Unmanaged.passUnretained(turns[plugin])._withUnsafeGuaranteedRef(body)
  }

  /// Calls `body` with each plugin that was shown the event, and its turn.
  @inline(__always)
  func forEachTouched(_ body: (_ plugin: Int, _ turn: Turn) -> Void) {
    for place in 0..<touched.count {
      let plugin = touched[place]
      withTurn(of: plugin) { body(plugin, $0) }
    }
  }

  // MARK: Commits

  /// Hands out the batch that has collected, which is in flight from then on, and begins another.
  package func takeBatch() -> CommitBatch {
    let taken = batch
    inFlight.append(taken)
    batch = nextBatch(taken.number + 1)
    return taken
  }

  private func nextBatch(_ number: UInt64) -> CommitBatch {
    let changes = context.changeLogs.take()
    if let spare = spareBatches.popLast(), spare.reuse(number: number, changes: changes) { return spare }
    return CommitBatch(number: number, changes: changes)
  }

  /// Takes a batch that nobody needs any longer, to use it again.
  package func giveBack(_ batch: CommitBatch) {
    if spareBatches.count < Self.mostSpareBatches { spareBatches.append(batch) }
  }

  /// Says that the batch taken first is durable, or that it failed.
  ///
  /// After a failure nothing hot is trusted any more; the batches behind it, the collecting one among them, have failed with it, and are
  /// handed back for their replies to be refused.
  package func finished(_ finished: CommitBatch, durable isDurable: Bool) -> [CommitBatch] {
    precondition(inFlight.first === finished, "batches finish in the order in which they were taken")
    if isDurable {
      inFlight.removeFirst()
      durable = finished.number
      cache.evict(durable: durable)
      return [finished]
    }
    let lost = inFlight + [batch]
    for batch in lost { context.counters.release(batch.counters) }
    inFlight.removeAll()
    durable = batch.number
    batch = CommitBatch(number: batch.number + 1)
    cache.removeAll()
    return lost
  }

  /// Whether batches that were handed out have not finished.
  package var hasInFlight: Bool { !inFlight.isEmpty }

  /// How many batches that were handed out have not finished.
  package var inFlightCount: Int { inFlight.count }

  /// Whether that batch has been handed out and has not finished.
  package func isInFlight(_ batch: CommitBatch) -> Bool { inFlight.contains { $0 === batch } }

  /// Whether nothing waits to be written, so that replies need not wait.
  package var isQuiet: Bool { inFlight.isEmpty && batch.isEmpty }

  /// How many subjects are hot, and about how many bytes they take.
  package var hotSubjects: (count: Int, bytes: Int) { (cache.count, cache.bytes) }

  // MARK: Subjects

  /// Looks ahead: of the subjects with those hashes, of which events are evaluated in this order, brings those nearer that are some places
  /// behind `place`.
  package func prefetch(from place: Int, in count: Int, _ hash: (Int) -> UInt64) {
    for step in SubjectCache.Approach.allCases {
      let ahead = place + 2 * (SubjectCache.Approach.allCases.count - step.rawValue)
      if ahead < count { cache.approach(hash(ahead), step) }
    }
  }

  /// The subject of that name, read from the store when it is not hot.
  func findSubject(_ name: UnsafeRawBufferPointer) throws(RequestError) -> Subject {
    let hash = hash64(name)
    if let subject = cache.find(name, hash: hash) { return subject }
    let subject = Subject(name: name, hash: hash)
    key.removeAll()
    StoreKey.record(name, into: key)
    record.removeAll()
    if try readCommitted(key.bytes, of: name, into: record) { subject.keepRecord(record.bytes) }
    // Before it is in: whoever asked is about to change it.
    if cache.bytes > cache.limit { cache.evict(durable: durable) }
    cache.insert(subject)
    return subject
  }

  /// The subject of that name, kept in an array.
  func findSubject(named name: [UInt8]) throws(RequestError) -> Subject {
    let bytes = ByteBuffer(capacity: name.count)
    name.withUnsafeBytes { bytes.append($0) }
    defer { withExtendedLifetime(bytes) {} }
    return try findSubject(bytes.bytes)
  }

  private static func recordKey(_ subject: Subject) -> [UInt8] {
    StoreKey.bytes { StoreKey.record(subject.name, into: $0) }
  }

  /// A subject's record, or nil when it has none.
  func view(_ subject: Subject) throws(RequestError) -> SubjectRecordView? {
    guard !subject.record.isEmpty else { return nil }
    do throws(StoreError) {
      let view = try SubjectRecordView(subject.record)
      context.isWhole(Self.recordKey(subject), malformed: true)
      return view
    } catch {
      throw Self.recordKey(subject).withUnsafeBytes { damaged($0, of: subject.name, error, malformed: true) }
    }
  }
}

extension StoreError {
  /// The answer to a request that the store failed.
  package var requestError: RequestError {
    RequestError(.unavailable, "the store failed, nothing was applied, send it again: \(description)")
  }

  /// The answer to a request for which something of a kind had to be read and could not be.
  package func requestError(reading kind: StoreKey.Kind) -> RequestError {
    guard isDamage else { return requestError }
    return RequestError(
      .unavailable,
      "the \(kind.noun) can't be read, nothing was applied; other subjects are served, and this one once its disk is mended or a "
        + "backup of the store is restored: \(description)")
  }
}
