import RuledCore
import RuledJSON
package import RuledStore

/// The counters as the store has them once all counted batches are durable.
package struct StoredCounters {
  /// The seconds between searches for counters that are over.
  private static let patience: UInt32 = 60

  /// The totals of the readable counters.
  fileprivate private(set) var totals: [CounterKey: CounterTotal] = [:]
  fileprivate var unreadable: [UnreadableKeys] = []
  /// The counters that may have an unreadable value: they are counted in memory alone, as a write would destroy data that may be repaired.
  private var unstored: Set<CounterKey> = []
  /// The keys with labels as older builds wrote them, by their present counter: its next write removes them.
  private var renamed: [CounterKey: [[UInt8]]] = [:]
  /// When the next counter may be over, in seconds since 1970.
  private var nextEnd = UInt32.max
  private let key = ByteBuffer(capacity: 256)
  private let text = ByteBuffer(capacity: 64)

  /// A counter before a batch changed it.
  package struct Replaced {
    fileprivate let key: CounterKey
    fileprivate let total: CounterTotal?
    /// The keys in the store that the batch removes.
    fileprivate let renamed: [[UInt8]]
  }

  package init() {}

  fileprivate mutating func add(_ total: CounterTotal, name: ByteView, labels: ByteView, at stored: ByteView) {
    let key = CounterKey.stored(name: name, labels: labels)
    if let known = totals[key] {
      totals[key]?.add(CounterDelta(key, total.value))
      if known.end == nil { nextEnd = min(nextEnd, total.end ?? .max) }
    } else {
      totals[key] = total
      nextEnd = min(nextEnd, total.end ?? .max)
    }
    if !labels.elementsEqual(key.labels.utf8) { renamed[key, default: []].append(Array(stored)) }
  }

  // MARK: Counting

  /// Adds a batch's counts to the counters, and the new totals to its writes; removes counters that are over.
  ///
  /// - Returns: the earlier totals, in order, for `restore`.
  package mutating func count(_ batch: CommitBatch) -> [Replaced] {
    batch.removedCounters.removeAll()
    guard !batch.counters.isEmpty else { return [] }
    var replaced: [Replaced] = []
    replaced.reserveCapacity(batch.counters.count)
    var now: UInt32 = 0
    for delta in batch.counters {
      now = max(now, delta.second)
      let old = totals[delta.key]
      let total = old.adding(delta)
      totals[delta.key] = total
      nextEnd = min(nextEnd, total.end ?? .max)
      writeKey(delta.key)
      if !unreadable.isEmpty, old == nil || unstored.contains(delta.key),
        unreadable.contains(where: { $0.mayContain(key.bytes) })
      {
        unstored.insert(delta.key)
        replaced.append(Replaced(key: delta.key, total: old, renamed: []))
        continue
      }
      let renamed = removeRenamed(delta.key, in: batch.writes)
      replaced.append(Replaced(key: delta.key, total: old, renamed: renamed))
      text.removeAll()
      total.json.write(to: text)
      batch.writes.put(key.bytes, text.bytes)
    }
    if now >= nextEnd { removeOver(at: now, in: batch, &replaced) }
    return replaced
  }

  /// Takes back the counts of a batch that was not committed.
  package mutating func restore(_ replaced: [Replaced]) {
    for counter in replaced.reversed() {
      totals[counter.key] = counter.total
      if !counter.renamed.isEmpty { renamed[counter.key] = counter.renamed }
    }
    nextEnd = 0
  }

  private mutating func removeOver(at now: UInt32, in batch: CommitBatch, _ replaced: inout [Replaced]) {
    var end = UInt32.max
    for (counter, total) in totals {
      guard total.isOver(at: now), !unstored.contains(counter) else {
        end = min(end, total.end ?? .max)
        continue
      }
      let renamed = removeRenamed(counter, in: batch.writes)
      replaced.append(Replaced(key: counter, total: total, renamed: renamed))
      batch.removedCounters.append(counter)
      writeKey(counter)
      batch.writes.delete(key.bytes)
      StoreKey.counterOwner(counter.name, labels: counter.labels, into: key)
      batch.writes.delete(key.bytes)
    }
    for counter in batch.removedCounters { totals[counter] = nil }
    nextEnd = max(end, now.addingReportingOverflow(Self.patience).partialValue)
  }

  private func writeKey(_ counter: CounterKey) {
    StoreKey.counter(counter.name, labels: counter.labels, into: key)
  }

  /// Adds the removal of a counter's earlier keys to the writes of a batch that stores its value; returns them.
  private mutating func removeRenamed(_ key: CounterKey, in writes: WriteSet) -> [[UInt8]] {
    guard !renamed.isEmpty, let keys = renamed.removeValue(forKey: key) else { return [] }
    for key in keys { key.withView { writes.delete($0) } }
    return keys
  }
}

extension CounterTable {
  /// Reads the counters from the store.
  ///
  /// Damaged ones are noted in the damage report, and begin at 0 for rules.
  package func load(from context: EngineContext) throws(StoreError) -> StoredCounters {
    var stored = StoredCounters()
    var unreadable: [UnreadableKeys] = []
    try context.scan(prefix: StoreKey.prefix(.counter), of: .counter, passing: { unreadable.append($0) }) {
      key, value in
      guard case .counter(let name, let labels)? = try? ParsedKey(key), let json = try? JSONValue(parsing: value),
        let total = CounterTotal(json: json)
      else {
        let error = StoreError(.corrupt, "a counter has another form")
        context.noteDamage(key, error, malformed: true)
        let next = Array(key) + [0]
        stored.unreadable.append(UnreadableKeys(error: error, after: Array(key.dropLast()), before: next))
        return true
      }
      stored.add(total, name: name, labels: labels, at: key)
      return true
    }
    stored.unreadable += unreadable
    let owners = try owners(in: context)
    begin(with: stored.totals) { key in owners[key] ?? String(key.name.prefix { $0 != "." }) }
    return stored
  }

  /// The owners of the counters.
  ///
  /// A counter without a readable owner belongs to the plugin that its name begins with.
  private func owners(in context: EngineContext) throws(StoreError) -> [CounterKey: String] {
    var owners: [CounterKey: String] = [:]
    try context.scan(prefix: StoreKey.counterOwners, of: .counter, passing: { _ in }) { key, value in
      let counter = key.extracting(StoreKey.counterOwners.count...)
      if let end = counter.firstIndex(of: 0) {
        let owned = CounterKey.stored(name: counter.extracting(..<end), labels: counter.extracting((end + 1)...))
        owners[owned] = value.text
      }
      return true
    }
    return owners
  }
}
