import RuledCore
import RuledEngine
import RuledStore
import Synchronization

/// Makes units durable: one write, and one sync, for all that are given together.
///
/// One thread commits at a time: a worker its own unit when nobody else does, the committer what came meanwhile. After a failed commit nothing more is
/// written until the store has been opened anew; what comes before fails at once.
final class GroupCommit: Sendable {
  private struct State {
    let merged = WriteSet(capacity: 1 << 16)
    let key = ByteBuffer(capacity: 256)
    let value = ByteBuffer(capacity: 64)
    var counters: [CounterTable.Key: CounterValue] = [:]
    var needsReopening = false
    var hasUnsynced = false
  }

  private let store: any StateStore
  private let hub: WatchHub
  private let isDurable: Bool
  private let state = Mutex(State())

  /// Commits to the store of `context`, and publishes to `hub` what changed.
  init(context: EngineContext, hub: WatchHub) {
    store = context.store
    self.hub = hub
    isDurable = context.configuration.durability == .commit
  }

  /// Goes on from the counters that the store holds; before anything is committed.
  func begin(with counters: [CounterTable.Key: CounterValue]) { state.withLock { $0.counters = counters } }

  /// What became of a commit.
  enum Outcome {
    /// The units are as durable as was configured.
    case committed
    /// Nothing of them was applied, since the store has not been opened anew after an earlier failure.
    case refused
    /// Nothing of them was applied, and the store must be opened anew.
    case failed(StoreError)
  }

  /// Commits units together, once nobody else does.
  func commit(_ units: [CommitUnit]) -> Outcome {
    state.withLock { Self.commit(units, &$0, store, hub, isDurable: isDurable) }
  }

  /// Commits a unit unless somebody else is committing; nil when somebody is.
  func commitAlone(_ unit: CommitUnit) -> Outcome? {
    state.withLockIfAvailable { Self.commit([unit], &$0, store, hub, isDurable: isDurable) }
  }

  private static func commit(
    _ units: [CommitUnit], _ state: inout State, _ store: any StateStore, _ hub: WatchHub, isDurable: Bool
  ) -> Outcome {
    guard !state.needsReopening else { return .refused }
    var touched: [CounterTable.Key: CounterValue] = [:]
    for unit in units {
      for delta in unit.counters {
        touched[delta.key] = (touched[delta.key] ?? state.counters[delta.key] ?? .integer(0)) + delta.amount
      }
    }
    let writes = units.count == 1 ? units[0].writes : state.merged
    if units.count > 1 {
      writes.removeAll()
      for unit in units { writes.append(unit.writes) }
    }
    for (counter, amount) in touched {
      state.key.removeAll()
      StoreKey.counter(counter.name, labels: counter.labels, into: state.key)
      state.value.removeAll()
      amount.json.write(to: state.value)
      writes.put(state.key.bytes, state.value.bytes)
    }
    let changed = units.reduce(0) { $0 + $1.changes.count }
    if changed > 0 { WatchSequence.write(hub.last + UInt64(changed), to: writes, key: state.key, value: state.value) }
    guard !writes.isEmpty else { return .committed }
    do throws(StoreError) {
      try store.commit(writes, durable: isDurable)
    } catch {
      state.needsReopening = true
      return .failed(error)
    }
    if changed > 0 { hub.publish(units.lazy.map(\.changes).filter { !$0.isEmpty }) }
    state.counters.merge(touched) { $1 }
    state.hasUnsynced = !isDurable
    return .committed
  }

  /// Opens the store anew when a commit has failed; says whether that was so.
  func reopen() throws(StoreError) -> Bool {
    var error: StoreError?
    let wasNeeded = state.withLock { state in
      guard state.needsReopening else { return false }
      do throws(StoreError) {
        try store.reopen()
        state.needsReopening = false
      } catch let problem { error = problem }
      return true
    }
    if let error { throw error }
    return wasNeeded
  }

  /// Makes durable what was committed without waiting for the disk.
  func sync() -> Outcome {
    state.withLock { state in
      guard !state.needsReopening else { return .refused }
      guard state.hasUnsynced else { return .committed }
      state.hasUnsynced = false
      do throws(StoreError) { try store.sync() } catch {
        state.needsReopening = true
        return .failed(error)
      }
      return .committed
    }
  }
}
