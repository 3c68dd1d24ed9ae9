import RuledCore
import RuledEngine
import RuledStore
import RuledThreads

/// What became of a batch.
enum CommitResult: Sendable {
  /// It counts: it is as durable as is configured.
  case durable
  /// Nothing of it is applied, nor will be.
  case lost
  /// The store could not find out: a restart may find it, or not.
  case unknown
}

/// Makes batches durable: a batch is appended to the store when it is ready, and one sync then settles all that were appended before.
///
/// Each worker is told what became of its batches in their order. After a failure nothing more is appended until the store has been opened anew, and
/// nothing of a worker that lost a batch until it has heard of that, since what it evaluated meanwhile builds on it.
final class GroupCommit: @unchecked Sendable {  // what changes is guarded by `lock`
  private let store: any StateStore
  private let counters: CounterTable
  private let hub: WatchHub
  private let workers: [Mailbox<WorkerMessage>]
  /// Whether each commit is synced.
  let isDurable: Bool
  private let lock = Condition()
  /// Held by whoever syncs, until those concerned have been told; taken before `lock`.
  private let settling = Condition()
  private var queue = CommitQueue()
  /// What became of the batch that each worker waits for.
  private var results: [CommitResult]
  /// Workers that do not know yet that they lost a batch.
  private var barred: Set<Int> = []
  /// The number of the last append.
  private var last: UInt64 = 0
  private var needsReopening = false
  /// Whether nobody has tried that yet.
  private var isReopeningDue = false
  private var isStopping = false
  /// Whether the committer had batches to sync the last time, and looks for more by itself.
  private var isBusy = false

  /// Commits to the store of `context`, publishes to `hub` what changed and tells `workers` what became of their batches.
  init(context: EngineContext, hub: WatchHub, workers: [Mailbox<WorkerMessage>]) {
    store = context.store
    counters = context.counters
    self.hub = hub
    self.workers = workers
    results = Array(repeating: .lost, count: workers.count)
    isDurable = context.configuration.durability == .commit
  }

  /// Goes on from the counters that the store holds; before anything is committed.
  func begin(with counters: CounterTable.Kept) {
    lock.locked { queue = CommitQueue(counters: counters) }
  }

  // MARK: For workers

  /// Commits a batch as durably as is configured, and says what became of it; the error is the caller's to report.
  func commit(_ submission: Submission, of worker: Int) -> (fate: CommitResult, error: StoreError?) {
    var error = lock.locked {
      defer { if !isDurable { conclude(through: last) } }
      return enter(submission, of: worker, isAwaited: true)
    }
    if isDurable { error = settle() ?? error }
    if error != nil { lock.wakeAll() }
    return (lock.locked { results[worker] }, error)
  }

  /// Appends a batch and leaves the sync to the committer; the worker gets a message about it.
  ///
  /// `inFlight` is how many requests are in flight altogether.
  func append(_ submission: Submission, of worker: Int, inFlight: Int) -> StoreError? {
    let (error, isToWake) = lock.locked {
      let wasEmpty = queue.waitingReplies == nil
      let error = enter(submission, of: worker, isAwaited: false)
      return (error, wasEmpty && !isBusy || isWorthSyncing(inFlight))
    }
    if isToWake { lock.wakeAll() }
    return error
  }

  /// Takes batches of a worker again, which knows that it lost one.
  func resume(_ worker: Int) { lock.locked { _ = barred.remove(worker) } }

  private func enter(_ submission: Submission, of worker: Int, isAwaited: Bool) -> StoreError? {
    guard !needsReopening, !barred.contains(worker) else {
      refuse(submission, of: worker, isAwaited: isAwaited)
      return nil
    }
    do throws(StoreError) {
      try queue.append(submission, of: worker, isAwaited: isAwaited, after: hub.last) { writes throws(StoreError) in
        if !writes.isEmpty {
          if isDurable { last = try store.append(writes) } else { try store.commit(writes, durable: false) }
        }
        return last
      }
      return nil
    } catch {
      refuse(submission, of: worker, isAwaited: isAwaited)
      poison()
      return error
    }
  }

  private func refuse(_ submission: Submission, of worker: Int, isAwaited: Bool) {
    barred.insert(worker)
    queue.refuse(submission, of: worker, isAwaited: isAwaited)
  }

  // MARK: Settling

  /// Syncs what was appended and tells the workers; gives the error if that is the first.
  func settle() -> StoreError? { settling.locked { settleAlone() } }

  private func settleAlone() -> StoreError? {
    do throws(StoreError) {
      let number = try store.sync()
      lock.locked { conclude(through: number) }
      return nil
    } catch {
      return lock.locked {
        conclude(through: store.lastCommitted)
        return fail(error)
      }
    }
  }

  private func conclude(through number: UInt64) {
    let settled = queue.takeSettled(through: number)
    for entry in settled where entry.number != nil { counters.commit(entry.submission.batch) }
    let changes = settled.lazy.filter { $0.number != nil }.map(\.submission.batch.changes).filter { !$0.isEmpty }
    if !changes.isEmpty { hub.publish(Array(changes)) }
    var batches: [DurableSubmission] = []
    var concerned = WorkerSet()
    for entry in settled {
      guard entry.number != nil, !entry.isAwaited else { continue }
      batches.append(DurableSubmission(worker: entry.worker, submission: entry.submission))
      concerned.insert(entry.worker)
      concerned.formUnion(entry.submission.recipients)
    }
    if !batches.isEmpty {
      let receivers = workers.indices.filter { concerned.contains($0) }
      for batch in batches { batch.submission.share(among: receivers.count) }
      for worker in receivers { workers[worker].send(.durable(batches)) }
    }
    for entry in settled {
      if entry.number == nil { tell(entry, .lost) } else if entry.isAwaited { results[entry.worker] = .durable }
    }
  }

  private func fail(_ error: StoreError) -> StoreError? {
    for entry in queue.takeLost() {
      barred.insert(entry.worker)
      tell(entry, entry.number != nil && error.isOutcomeUnknown ? .unknown : .lost)
    }
    guard !needsReopening else { return nil }
    poison()
    return error
  }

  private func poison() {
    needsReopening = true
    isReopeningDue = true
  }

  private func tell(_ entry: CommitQueue.Entry, _ fate: CommitResult) {
    if entry.isAwaited {
      results[entry.worker] = fate
    } else {
      workers[entry.worker].send(.lost(entry.submission, fate))
    }
  }

  // MARK: For the committer

  /// What there is for the committer to do.
  struct Work {
    /// Whether batches were left to it.
    let hasBatches: Bool
    /// Whether the store is to be opened anew.
    let isReopeningDue: Bool
    /// Whether the committer is to end.
    let isStopping: Bool
  }

  /// Waits for something to do, at most so many milliseconds, and then for a sync to settle most of what is in flight, at most so many microseconds.
  ///
  /// As long as there was something to do the last time, the wait for most of what is in flight comes first: workers then wake the committer once for each
  /// sync.
  func awaitWork(milliseconds: Int, gathering microseconds: Int, inFlight: () -> Int) -> Work? {
    if isBusy {
      gather(microseconds: microseconds, inFlight: inFlight)
      if let work = lock.locked({ work }) { return work }
    }
    let found: Work? = lock.wait(milliseconds: milliseconds) {
      let work = work
      isBusy = work?.hasBatches ?? false
      return work
    }
    if isBusy { gather(microseconds: microseconds, inFlight: inFlight) }
    return found
  }

  private var work: Work? {
    let hasBatches = queue.waitingReplies != nil
    guard hasBatches || isReopeningDue || isStopping else { return nil }
    return Work(hasBatches: hasBatches, isReopeningDue: isReopeningDue, isStopping: isStopping)
  }

  private func gather(microseconds: Int, inFlight: () -> Int) {
    let _: Void? = lock.wait(microseconds: microseconds) { isWorthSyncing(inFlight()) || isStopping ? () : nil }
  }

  /// Whether a sync would settle most of what is in flight, so that there is nothing to wait for.
  private func isWorthSyncing(_ inFlight: Int) -> Bool { (queue.waitingReplies ?? 0) * 20 >= inFlight * 19 }

  /// Lets the committer end once nothing is left to it.
  func stop() { lock.signal { isStopping = true } }

  /// Opens the store anew when a commit has failed; says whether that was so.
  func reopen() throws(StoreError) -> Bool {
    try settling.locked { () throws(StoreError) in
      let isNeeded = lock.locked {
        isReopeningDue = false
        return needsReopening
      }
      guard isNeeded else { return false }
      _ = settleAlone()  // so that what the failure left open is known before numbers count up again
      return try lock.locked { () throws(StoreError) in
        try store.reopen()
        needsReopening = false
        return true
      }
    }
  }
}
