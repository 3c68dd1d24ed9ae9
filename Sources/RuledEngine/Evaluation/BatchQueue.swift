package import RuledCore
package import RuledStore

/// The commit batches of one worker: the one that collects writes, and those that were handed out and are not yet durable.
///
/// It reads the store as it will be once all of these batches are durable.
final class BatchQueue {
  /// How many finished batches are kept for reuse.
  private static let mostSpare = 8

  /// The batch that collects writes.
  private(set) var current = CommitBatch(number: 1)
  /// The batches that were handed out and have not finished, the oldest first.
  private(set) var inFlight: [CommitBatch] = []
  /// The number of the last durable batch.
  private(set) var durable: UInt64 = 0

  /// How often writes were rolled back or discarded.
  private(set) var rollBacks = 0

  /// The owner's number: that of a daemon's worker, or another unique one.
  let worker: UInt64
  private var spare: [CommitBatch] = []
  private let context: EngineContext

  init(_ context: EngineContext, worker: UInt64) {
    self.context = context
    self.worker = worker
  }

  // MARK: Batches

  /// Hands out the current batch, which is in flight from then on, and begins the next one.
  func handOut() -> CommitBatch {
    let batch = current
    batch.counters.addUp()
    inFlight.append(batch)
    current = next(after: batch)
    return batch
  }

  private func next(after batch: CommitBatch) -> CommitBatch {
    let number = batch.number + 1
    let changes = context.changeLogs.take()
    if let batch = spare.popLast(), batch.reuse(number: number, changes: changes) { return batch }
    return CommitBatch(number: number, changes: changes)
  }

  func keepSpare(_ batch: CommitBatch) {
    if spare.count < Self.mostSpare { spare.append(batch) }
  }

  /// Notes that the oldest batch in flight is durable.
  func retire(_ batch: CommitBatch) {
    precondition(inFlight.first === batch, "batches finish in the order in which they were taken")
    inFlight.removeFirst()
    durable = batch.number
    for change in batch.topics {
      if let publication = change.publication { context.publications.count(publication.publisher, 1) }
    }
  }

  /// Discards the oldest batch in flight, whose commit failed, and all later ones, the current one included.
  func discardAll(from batch: CommitBatch) {
    precondition(inFlight.first === batch, "batches finish in the order in which they were taken")
    rollBacks += 1
    for batch in uncommitted {
      context.counters.release(batch.counters)
      context.boards.release(batch.boards)
    }
    inFlight.removeAll()
    durable = current.number
    current = CommitBatch(number: current.number + 1)
  }

  func rollBack(to mark: CommitBatch.Mark) {
    rollBacks += 1
    context.counters.release(current.counters[mark.counters...])
    context.boards.release(current.boards[mark.boards...])
    current.rollBack(to: mark)
  }

  /// All batches that are not yet durable, the oldest first.
  var uncommitted: [CommitBatch] { inFlight + [current] }

  func hasPublication(of publisher: ByteView) -> Bool {
    if current.publishes(publisher) { return true }
    for batch in inFlight where batch.publishes(publisher) { return true }
    return false
  }

  /// Whether nothing waits to be written, so that replies need not wait either.
  var isQuiet: Bool { inFlight.isEmpty && current.isEmpty }

  // MARK: Reading

  /// Reads the value of a subject's key into a buffer; false when there is none.
  func read(_ key: ByteView, of subject: Subject, into buffer: ByteBuffer) throws(RequestError) -> Bool {
    try read(key, of: subject.name, lookup(key, of: subject), into: buffer)
  }

  /// Reads the value of a key that nobody but this worker writes; false when there is none.
  func readOwn(_ key: ByteView, of subject: ByteView, into buffer: ByteBuffer) throws(RequestError) -> Bool {
    try read(key, of: subject, lookup(key), into: buffer)
  }

  @inline(__always)
  private func read(
    _ key: ByteView, of subject: ByteView, _ found: WriteLookup, into buffer: ByteBuffer
  ) throws(RequestError) -> Bool {
    switch found {
    case .absent: return try readCommitted(key, of: subject, into: buffer)
    case .deleted: return false
    case .value(let bytes):
      buffer.removeAll()
      buffer.append(bytes)
      return true
    }
  }

  /// The last write under a subject's key in the batches that are not durable.
  @inline(__always)
  func lookup(_ key: ByteView, of subject: Subject) -> WriteLookup {
    subject.lastCommit > durable ? lookup(key) : .absent
  }

  @inline(__always)
  private func lookup(_ key: ByteView) -> WriteLookup {
    var next: CommitBatch? = current
    var remaining = inFlight.count
    while let batch = next {
      let found = batch.writes.lookup(key)
      guard case .absent = found else { return found }
      remaining -= 1
      next = remaining >= 0 ? inFlight[remaining] : nil
    }
    return .absent
  }

  /// Reads the value that the store holds under a subject's key; false when there is none.
  func readCommitted(_ key: ByteView, of subject: ByteView, into buffer: ByteBuffer) throws(RequestError) -> Bool {
    buffer.removeAll()
    do throws(StoreError) {
      let isFound = try context.store.get(key, into: buffer)
      context.clearDamage(key)
      return isFound
    } catch { throw unreadable(key, of: subject, error) }
  }

  /// All keys that begin with `prefix`, with their values, in byte order; `inStoreAlone` says that no batch has any.
  func readAll(
    prefix: [UInt8], of subject: ByteView, inStoreAlone: Bool = false
  ) throws(RequestError) -> [StoredPair] {
    var found: [[UInt8]: [UInt8]] = [:]
    do throws(StoreError) {
      try context.store.scan(prefix: prefix) { key, value in
        found[Array(key)] = Array(value)
        return true
      }
      context.clearDamage(prefix)
    } catch { throw prefix.withView { unreadable($0, of: subject, error) } }
    for batch in inStoreAlone ? [] : uncommitted {
      batch.writes.forEach { operation in
        switch operation {
        case .put(let key, let value): if key.starts(with: prefix) { found[Array(key)] = Array(value) }
        case .delete(let key): if key.starts(with: prefix) { found[Array(key)] = nil }
        case .journal: break
        }
      }
    }
    return found.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { StoredPair(key: $0.key, value: $0.value) }
  }

  /// All keys of a kind that belong to a subject, and to a plugin if there is one, with their values, in byte order.
  func readAll(
    _ kind: StoreKey.Kind, of subject: ByteView, plugin: String? = nil, inStoreAlone: Bool = false
  ) throws(RequestError) -> [StoredPair] {
    let prefix = StoreKey.prefix(kind, of: subject, plugin: plugin)
    return try readAll(prefix: prefix, of: subject, inStoreAlone: inStoreAlone)
  }

  /// Notes that a subject's key can't be read.
  ///
  /// A value that is `malformed` could be read, but not understood.
  /// - Returns: the answer to a request that needs the value.
  func unreadable(_ key: ByteView, of subject: ByteView, _ error: StoreError, malformed: Bool = false) -> RequestError {
    context.noteDamage(key, of: Array(subject), error, malformed: malformed)
    return error.requestError(reading: key.first.flatMap { StoreKey.Kind(rawValue: $0) } ?? .record)
  }
}

/// A key and its value, as the store will have them.
struct StoredPair {
  let key: [UInt8]
  let value: [UInt8]

  /// Calls `body` with the parts of the key, nil if it is of no known layout, and with the value.
  func read<Result, Failure>(_ body: (ParsedKey?, ByteView) throws(Failure) -> Result) throws(Failure) -> Result {
    try key.withView { (key) throws(Failure) in
      try value.withView { (value) throws(Failure) in try body(try? ParsedKey(key), value) }
    }
  }
}

extension StoreError {
  package var requestError: RequestError {
    RequestError(.unavailable, "the store failed, nothing was applied, send it again: \(description)")
  }

  /// The answer to a request that needs a value of some kind that can't be read.
  func requestError(reading kind: StoreKey.Kind) -> RequestError {
    guard isDamage else { return requestError }
    return RequestError(
      .unavailable,
      "the \(kind.noun) can't be read, nothing was applied; other subjects are served, and this one once its disk is mended or a "
        + "backup of the store is restored: \(description)")
  }
}
