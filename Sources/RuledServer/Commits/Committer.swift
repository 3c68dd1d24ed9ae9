import RuledCore
import RuledEngine
import RuledStore

/// The thread that makes units durable: one write, and one sync, for all that arrived while the last one was under way.
///
/// After a failed commit nothing more is written until the store has been opened anew; what arrives meanwhile fails at once.
final class Committer {
  private let services: Services
  private let loop: EventLoop
  private let merged = WriteSet(capacity: 1 << 20)
  private var counters: [CounterTable.Key: CounterValue]
  private let isDurable: Bool
  private var timer: LoopTimer?
  private var needsReopening = false
  private var hasUnsynced = false
  private let key = ByteBuffer(capacity: 256)
  private let value = ByteBuffer(capacity: 64)

  init(services: Services, counters: [CounterTable.Key: CounterValue]) throws(SystemError) {
    self.services = services
    self.counters = counters
    isDurable = services.context.configuration.durability == .commit
    loop = try EventLoop()
  }

  /// Commits until the loop is stopped.
  func run() throws(SystemError) {
    try services.committer.attach(to: loop) { [unowned self] in take($0) }
    timer = try LoopTimer(on: loop) { [unowned self] in tick() }
    timer?.start(after: 1000, every: UInt64(Limits.syncInterval / 1000))
    loop.run()
    timer?.close()
    services.committer.close()
    loop.close()
  }

  /// Ends the thread once what has arrived is committed.
  func stop() { loop.stop() }

  private func take(_ submissions: [Submission]) {
    for submission in submissions where submission.worker < 0 { return stop() }
    let succeeded = !needsReopening && commit(submissions)
    for submission in submissions {
      _ = services.workers[submission.worker].send(.finished(submission.unit, durable: succeeded))
    }
    if needsReopening { reopen() }
  }

  private func commit(_ submissions: [Submission]) -> Bool {
    merged.removeAll()
    var touched: [CounterTable.Key: CounterValue] = [:]
    for submission in submissions {
      merged.append(submission.unit.writes)
      for delta in submission.unit.counters {
        touched[delta.key] = (touched[delta.key] ?? counters[delta.key] ?? .integer(0)) + delta.amount
      }
    }
    for (counter, amount) in touched {
      key.removeAll()
      StoreKey.counter(counter.name, labels: counter.labels, into: key)
      value.removeAll()
      amount.json.write(to: value)
      merged.put(key.bytes, value.bytes)
    }
    let changes = submissions.lazy.map(\.unit.changes).filter { !$0.isEmpty }
    let changed = changes.reduce(0) { $0 + $1.count }
    if changed > 0 { WatchSequence.write(services.hub.last + UInt64(changed), to: merged, key: key, value: value) }
    guard !merged.isEmpty else { return true }
    do throws(StoreError) {
      try services.context.store.commit(merged, durable: isDurable)
    } catch {
      failed(error)
      return false
    }
    if changed > 0 { services.hub.publish(Array(changes)) }
    counters.merge(touched) { $1 }
    hasUnsynced = !isDurable
    return true
  }

  private func failed(_ error: StoreError) {
    needsReopening = true
    services.status.store(error.description)
    services.notifyStatus()
    services.context.log.write(LogLine(.error, "the store refused a commit, nothing of it was applied: \(error)"))
  }

  private func reopen() {
    do throws(StoreError) {
      try services.context.store.reopen()
      needsReopening = false
      services.status.store(nil)
      services.notifyStatus()
      services.context.log.write(LogLine(.info, "the store is open again"))
      _ = services.control.send(.storeReopened)
    } catch {
      services.status.store(error.description)
    }
  }

  private func tick() {
    if needsReopening { return reopen() }
    let now = services.context.clock.now.microseconds
    services.context.store.expire(before: now)
    guard hasUnsynced else { return }
    hasUnsynced = false
    do throws(StoreError) { try services.context.store.sync() } catch { failed(error) }
  }
}
