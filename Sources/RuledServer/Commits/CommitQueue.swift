import RuledCore
import RuledEngine
import RuledStore

/// The batches that were appended to the store in this order and do not count yet, and what the daemon's own keys will hold once they do.
struct CommitQueue {
  /// A batch whose fate is not known yet.
  struct Entry {
    let submission: Submission
    /// Whose it is.
    let worker: Int
    /// The number that the store gave it; nil when it was refused and only waits for its turn to be told.
    let number: UInt64?
    /// Whether its worker waits for it, and sees to it that it is settled.
    let isAwaited: Bool
    /// What the counters that it changes were before.
    fileprivate let replaced: [(key: CounterTable.Key, value: CounterValue?)]
  }

  private var entries: [Entry] = []
  private var counters: [CounterTable.Key: CounterValue] = [:]
  /// What the store held of counters at the start.
  private let kept: CounterTable.Kept
  /// How many changes for watchers the entries hold.
  private var changes = 0
  private let key = ByteBuffer(capacity: 256)
  private let value = ByteBuffer(capacity: 64)

  /// A queue that goes on from the counters that the store holds.
  ///
  /// Those whose values could not be read are counted in memory alone: to write them would be to put an end to what may yet be mended.
  init(counters kept: CounterTable.Kept = CounterTable.Kept()) {
    self.kept = kept
    counters = kept.values
  }

  /// How many replies wait for batches that no worker waits for; nil when there is no such batch.
  var waitingReplies: Int? {
    var count: Int?
    for entry in entries where !entry.isAwaited { count = (count ?? 0) + entry.submission.replies.count }
    return count
  }

  /// Adds a batch once `write` has taken its writes, the shared counters and the sequence behind `sequence` among them, and given the number.
  mutating func append(
    _ submission: Submission, of worker: Int, isAwaited: Bool, after sequence: UInt64,
    _ write: (WriteSet) throws(StoreError) -> UInt64
  ) throws(StoreError) {
    let batch = submission.batch
    let replaced = count(batch)
    if !batch.changes.isEmpty {
      let last = sequence + UInt64(changes + batch.changes.count)
      WatchSequence.write(last, to: batch.writes, key: key, value: value)
    }
    do throws(StoreError) {
      let number = try write(batch.writes)
      changes += batch.changes.count
      entries.append(
        Entry(
          submission: submission, worker: worker, number: number, isAwaited: isAwaited, replaced: replaced))
    } catch {
      restore(replaced)
      throw error
    }
  }

  /// Adds a batch that is not to be applied.
  mutating func refuse(_ submission: Submission, of worker: Int, isAwaited: Bool) {
    entries.append(Entry(submission: submission, worker: worker, number: nil, isAwaited: isAwaited, replaced: []))
  }

  /// Removes the batches up to the one of that number, and those refused behind it.
  mutating func takeSettled(through number: UInt64) -> [Entry] {
    let rest = entries.firstIndex { $0.number.map { $0 > number } ?? false } ?? entries.count
    let settled = Array(entries[..<rest])
    entries.removeFirst(rest)
    for entry in settled where entry.number != nil { changes -= entry.submission.batch.changes.count }
    return settled
  }

  /// Removes all batches, none of which is applied.
  mutating func takeLost() -> [Entry] {
    let lost = entries
    for entry in lost.reversed() { restore(entry.replaced) }
    entries.removeAll()
    changes = 0
    return lost
  }

  /// Adds the batch's counts to the counters and their new values to its writes; gives the old ones.
  private mutating func count(_ batch: CommitBatch) -> [(key: CounterTable.Key, value: CounterValue?)] {
    guard !batch.counters.isEmpty else { return [] }
    var replaced: [CounterTable.Key: CounterValue?] = [:]
    for delta in batch.counters {
      let old = counters[delta.key]
      if replaced[delta.key] == nil { replaced[delta.key] = .some(old) }
      counters[delta.key] = (old ?? .integer(0)) + delta.amount
    }
    for counter in replaced.keys {
      key.removeAll()
      StoreKey.counter(counter.name, labels: counter.labels, into: key)
      if !kept.unreadable.isEmpty, kept.mayHide(key.bytes), kept.values[counter] == nil { continue }
      value.removeAll()
      counters[counter]?.json.write(to: value)
      batch.writes.put(key.bytes, value.bytes)
    }
    return replaced.map { ($0.key, $0.value) }
  }

  private mutating func restore(_ replaced: [(key: CounterTable.Key, value: CounterValue?)]) {
    for counter in replaced { counters[counter.key] = counter.value }
  }
}
