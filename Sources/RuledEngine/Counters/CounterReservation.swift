import RuledCore
import RuledStore

/// What one plugin counts for one event.
///
/// Room in the table is reserved for it until it joins a batch or is released.
struct CounterReservation {
  private var deltas: [CounterDelta] = []

  /// How many amounts there are.
  var count: Int { deltas.count }

  /// Adds an amount, for which room must then be reserved.
  mutating func append(_ key: CounterKey, _ amount: CounterValue) { deltas.append(CounterDelta(key, amount)) }

  /// Reserves room for the amounts from `start` on, or removes them if one can't be counted; `rule` names the rule of one by its index.
  mutating func reserve(
    from start: Int, of plugin: String, in context: EngineContext, rule: (Int) -> String?
  ) throws(Failure) {
    let limit = context.counterLimit
    let refused = context.counters.reserve(&deltas, from: start, of: plugin, limit: limit)
    guard let (index, refusal) = refused else { return }
    let delta = deltas[index]
    deltas.removeSubrange(start...)
    let message =
      switch refusal {
      case .isFull:
        "there is no room for another counter '\(delta.key.name)': the plugin has \(limit), names with their labels, as many as it may; "
          + "count with fewer different labels, or raise limits.counters"
      case .overflows:
        "a counter would overflow: '\(delta.key.name)' \(delta.key.labels) can't take \(delta.amount.json.text) more"
      }
    var failure = Failure(plugin: plugin, kind: .value, message: message)
    failure.rule = rule(index)
    throw failure
  }

  /// Moves the amounts to a batch, with the owner of each new series.
  mutating func move(to batch: CommitBatch, of plugin: Catalog.Plugin) {
    batch.counters.append(contentsOf: deltas)
    for delta in deltas where delta.isFirst {
      let key = StoreKey.bytes { StoreKey.counterOwner(delta.key.name, labels: delta.key.labels, into: $0) }
      key.withView { batch.writes.put($0, plugin.nameBytes) }
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
