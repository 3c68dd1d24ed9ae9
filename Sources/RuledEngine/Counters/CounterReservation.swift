import RuledCore
import RuledStore

/// The counts of one plugin for one event.
///
/// Room in the table is reserved for it until it joins a batch or is released.
struct CounterReservation {
  private var deltas: [CounterDelta] = []

  var count: Int { deltas.count }

  /// Adds an amount, for which room must then be reserved.
  mutating func append(_ delta: CounterDelta) { deltas.append(delta) }

  /// Reserves room for the amounts from `start` on, or removes them if one can't be counted.
  ///
  /// - Returns: the first amount that can't be counted, and its number among them from 0 on.
  mutating func reserve(
    from start: Int, of plugin: String, in context: EngineContext
  ) -> (number: Int, delta: CounterDelta)? {
    guard let index = context.counters.reserve(&deltas, from: start, of: plugin, limit: context.counterLimit) else {
      return nil
    }
    defer { deltas.removeSubrange(start...) }
    return (index - start, deltas[index])
  }

  func forEach(_ body: (CounterDelta) -> Void) { deltas.forEach(body) }

  /// Moves the amounts to the current batch, with the owner of each new series.
  mutating func move(to batches: BatchQueue, of plugin: Catalog.Plugin) {
    batches.current.counters.append(contentsOf: deltas)
    for delta in deltas where delta.isFirst {
      let key = StoreKey.bytes { StoreKey.counterOwner(delta.key.name, labels: delta.key.labels, into: $0) }
      key.withView { batches.current.writes.put($0, plugin.nameBytes) }
    }
    deltas.removeAll(keepingCapacity: true)
  }

  /// Releases amounts that did not join a batch.
  mutating func release(in context: EngineContext) {
    guard !deltas.isEmpty else { return }
    context.counters.release(deltas)
    deltas.removeAll(keepingCapacity: true)
  }
}
