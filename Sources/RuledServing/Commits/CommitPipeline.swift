import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledThreads
import Synchronization

/// Makes submissions durable: each is appended to the store at once, and one sync makes all earlier appends durable.
///
/// Each worker gets the results of its submissions in their order. The store's state decides on them (`StoreState`): after a failure it
/// takes none until `reopen`. A worker that lost a submission has evaluated on top of it, so that all its submissions are refused until it knows of the loss.
///
/// Two locks, `syncing` before `lock`; `docs/architecture.md` has the table of all locks.
final class CommitPipeline: @unchecked Sendable {  // `lock` guards what changes
  /// The pipeline's record of a worker.
  private struct Client {
    let mailbox: Mailbox<WorkerMessage>
    /// Whether it lost a submission and does not know it yet.
    var isUnaware = false
  }

  /// Whether each commit is synced; otherwise a submission is committed at once, and synced once a second.
  let isDurable: Bool
  private let store: any StateStore
  private let context: EngineContext
  let hub: WatchHub
  /// Held by the one thread that syncs or reopens, until it has told the workers the results.
  private let syncing = Condition()
  private let lock = Condition()
  private var queue = CommitQueue()
  private var clients: [Client]
  private var lastAppended: UInt64 = 0
  /// Whether the committer had submissions to sync the last time, and looks for more without being woken.
  private var isCommitterBusy = false
  private var isStopping = false
  /// How long syncs took that succeeded, in nanoseconds.
  private let syncs = Mutex(BucketHistogram(bounds: BucketHistogram.latencies))

  init(context: EngineContext, hub: WatchHub, workers: [Mailbox<WorkerMessage>]) {
    store = context.store
    self.context = context
    self.hub = hub
    clients = workers.map { Client(mailbox: $0) }
    isDurable = context.configuration.durability != .interval
  }

  /// Sets the counters that the store holds; before anything is submitted.
  func begin(with counters: StoredCounters) { lock.locked { queue = CommitQueue(counters: counters) } }

  // MARK: Submitting, by workers

  /// Appends a submission and leaves the sync to the committer, after which the worker gets a message; gives an error for the caller to report.
  ///
  /// `inFlight` is the number of requests in flight at all workers.
  func leaveToCommitter(_ submission: Submission, of worker: Int, inFlight: Int) -> StoreError? {
    var isWorthWaking = false
    let error = enqueue(submission, of: worker, isAwaited: false) {
      isWorthWaking = queue.waitingSubmissions == 1 && !isCommitterBusy || isWorthSyncing(inFlight)
    }
    if isWorthWaking { lock.wakeAll() }
    return error
  }

  /// Commits a submission on the caller's thread, which syncs if each commit is synced; gives the result, and an error for the caller to report.
  func makeDurable(_ submission: Submission, of worker: Int) -> (result: CommitResult, error: StoreError?) {
    var error = enqueue(submission, of: worker, isAwaited: true) {}
    if isDurable {
      let failed = syncAndSettle()
      error = error ?? failed
    }
    if error != nil { lock.wakeAll() }
    guard let result = lock.locked({ submission.result }) else {
      preconditionFailure("a submission that its worker has synced has no result")
    }
    return (result, error)
  }

  /// Accepts submissions of a worker again, which knows of its loss.
  func resume(_ worker: Int) { lock.locked { clients[worker].isUnaware = false } }

  /// Appends a submission to the store and the queue, or refuses it, and then calls `then` under `lock`.
  private func enqueue(_ submission: Submission, of worker: Int, isAwaited: Bool, then: () -> Void) -> StoreError? {
    do throws(StoreError) {
      while true {
        let missing = try lock.locked { () throws(StoreError) -> Int? in
          let missing = try enqueueIfRoom(submission, of: worker, isAwaited: isAwaited)
          if missing == nil { then() }
          return missing
        }
        guard let missing else { return nil }
        try store.makeRoom(for: missing)
      }
    } catch {
      lock.locked {
        refuse(submission, of: worker, isAwaited: isAwaited)
        then()
      }
      return Self.firstReport(error)
    }
  }

  /// Appends a submission or refuses it, under `lock`, and returns nil; or returns the number of bytes for which the store must make room first.
  ///
  /// These are more than the batch has afterwards: it holds counters' values and the sequence of its last change only while it is appended.
  private func enqueueIfRoom(_ submission: Submission, of worker: Int, isAwaited: Bool) throws(StoreError) -> Int? {
    guard !clients[worker].isUnaware, !submission.batch.isEmpty || store.state.failure == nil else {
      refuse(submission, of: worker, isAwaited: isAwaited)
      return nil
    }
    var byteCount = 0
    let isAppended = try queue.admit(submission, of: worker, isAwaited: isAwaited, after: hub.last) {
      (writes) throws(StoreError) in
      submission.batch.numberTopics(in: context)
      guard !writes.isEmpty else { return lastAppended }
      context.boards.number(submission.batch)
      byteCount = writes.byteCount
      do throws(StoreError) {
        if let number = try store.appendCommit(writes, isCommitted: !isDurable) {
          lastAppended = number
          return number
        }
      } catch {
        submission.batch.dropNumbers(in: context)
        throw error
      }
      submission.batch.dropNumbers(in: context)
      return nil
    }
    if !isDurable { settle(through: lastAppended) }
    return isAppended ? nil : byteCount
  }

  /// Refuses a submission, under `lock`, and wakes the committer, which opens the store again.
  private func refuse(_ submission: Submission, of worker: Int, isAwaited: Bool) {
    lock.wakeAll()
    clients[worker].isUnaware = true
    queue.keepRefused(submission, of: worker, isAwaited: isAwaited)
    if !isDurable { settle(through: lastAppended) }
  }

  /// The error to report; nil when it only says that an earlier one has not been repaired.
  private static func firstReport(_ error: StoreError) -> StoreError? { error.code == .poisoned ? nil : error }

  var waiting: Int { lock.locked { queue.waitingSubmissions } }
  var syncTimes: BucketHistogram { syncs.withLock { $0 } }

  // MARK: Syncing

  /// Makes all appends durable and tells the workers the results; returns an error for the caller to report.
  func syncAndSettle() -> StoreError? { syncing.locked { syncLocked() } }

  /// Under `syncing`.
  private func syncLocked() -> StoreError? {
    let start = EngineClock.monotonic
    do throws(StoreError) {
      let number = try store.syncCommits()
      syncs.withLock { $0.observe(EngineClock.monotonic - start) }
      lock.locked { settle(through: number) }
      return nil
    } catch {
      lock.locked {
        settle(through: store.committedSequence)
        for pending in queue.removeLost() {
          clients[pending.worker].isUnaware = true
          report(pending, pending.number != nil && error.isOutcomeUnknown ? .unknown : .lost)
        }
      }
      return Self.firstReport(error)
    }
  }

  /// Gives durable changes to watchers, and tells the workers: each one whose batch is durable, and each one whose connections wait for replies; under `lock`.
  private func settle(through number: UInt64) {
    let removed = queue.removeDurable(through: number)
    for pending in removed where pending.number != nil {
      context.counters.addDurable(pending.submission.batch)
      context.boards.applyDurable(pending.submission.batch)
    }
    let changes = removed.lazy.filter { $0.number != nil }.map(\.submission.batch.changes).filter { !$0.isEmpty }
    if !changes.isEmpty { hub.addChanges(Array(changes)) }
    var durable: [DurableSubmission] = []
    var concerned = WorkerSet()
    for pending in removed where pending.number != nil && !pending.isAwaited {
      durable.append(DurableSubmission(worker: pending.worker, submission: pending.submission))
      concerned.insert(pending.worker)
      concerned.formUnion(pending.submission.recipients)
    }
    if !durable.isEmpty {
      let receivers = clients.indices.filter { concerned.contains($0) }
      for one in durable { one.submission.setReaders(receivers.count) }
      for worker in receivers { clients[worker].mailbox.send(.durable(durable)) }
    }
    for pending in removed {
      if pending.number == nil {
        report(pending, .lost)
      } else if pending.isAwaited {
        pending.submission.result = .durable
      }
    }
  }

  private func report(_ pending: CommitQueue.Pending, _ result: CommitResult) {
    if pending.isAwaited {
      pending.submission.result = result
    } else {
      clients[pending.worker].mailbox.send(.lost(pending.submission, result))
    }
  }

  // MARK: Work for the committer

  struct Work {
    /// Whether submissions were left to it.
    let hasSubmissions: Bool
    let hasFailed: Bool
    let isStopping: Bool
  }

  /// Waits for something to do, at most so many milliseconds; then until a sync would make most requests in flight durable, at most so many microseconds.
  ///
  /// A failed store is something to do if it `reopens`. As long as there were submissions the last time, it gathers first: workers then wake the committer once
  /// for each sync.
  func awaitWork(milliseconds: Int, gathering microseconds: Int, reopens: Bool, inFlight: () -> Int) -> Work? {
    if isCommitterBusy {
      gather(microseconds: microseconds, inFlight: inFlight)
      if let work = lock.locked({ work(reopens: reopens) }) { return work }
    }
    let found: Work? = lock.wait(milliseconds: milliseconds) {
      let work = work(reopens: reopens)
      isCommitterBusy = work?.hasSubmissions ?? false
      return work
    }
    if isCommitterBusy { gather(microseconds: microseconds, inFlight: inFlight) }
    return found
  }

  private func work(reopens: Bool) -> Work? {
    let hasSubmissions = queue.waitingSubmissions > 0
    let hasFailed = reopens && store.state.failure != nil
    guard hasSubmissions || hasFailed || isStopping else { return nil }
    return Work(hasSubmissions: hasSubmissions, hasFailed: hasFailed, isStopping: isStopping)
  }

  private func gather(microseconds: Int, inFlight: () -> Int) {
    let _: Void? = lock.wait(microseconds: microseconds) { isWorthSyncing(inFlight()) || isStopping ? () : nil }
  }

  /// Whether a sync would make nineteen in twenty of the requests in flight durable, so that there is nothing to wait for.
  private func isWorthSyncing(_ inFlight: Int) -> Bool { queue.waitingReplies * 20 >= inFlight * 19 }

  /// Lets the committer end once nothing is left to it.
  func stop() { lock.signal { isStopping = true } }

  /// Opens the store again if it has failed; false when it had not.
  func reopen() throws(StoreError) -> Bool {
    try syncing.locked { () throws(StoreError) in
      guard store.state.failure != nil else { return false }
      _ = syncLocked()  // all appends get their results before numbers count up again
      try store.reopen()
      return true
    }
  }
}
