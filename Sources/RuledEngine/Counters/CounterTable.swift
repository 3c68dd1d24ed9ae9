import RuledCore
package import RuledStore
import Synchronization

/// The counters that all subjects share, as they are committed, and who made them.
///
/// A series, a name with its labels, belongs to the plugin that counted it first, whatever the name says, so that no plugin uses up what
/// another may have. Each plugin may have so many.
package final class CounterTable: Sendable {
  /// A counter's name and its labels, JSON text with the members in order.
  package struct Key: Hashable, Sendable {
    /// The counter's name.
    package let name: String
    /// Its labels.
    package let labels: String

    /// A counter.
    package init(name: String, labels: String) {
      self.name = name
      self.labels = labels
    }
  }

  /// What an event adds.
  package struct Delta: Sendable {
    /// The counter.
    package let key: Key
    /// What is added.
    package let amount: CounterValue
    /// Whether nobody had counted it before.
    var isFirst = false

    /// What an operation adds.
    init(name: UnsafeRawBufferPointer, labels: UnsafeRawBufferPointer, amount: CounterValue) {
      key = Key(name: String(decoding: name, as: UTF8.self), labels: String(decoding: labels, as: UTF8.self))
      self.amount = amount
    }
  }

  private struct Series {
    /// What is committed; nil while nothing is.
    var value: CounterValue?
    /// How many events that count it are not yet committed.
    var pending = 0
    let owner: String
  }

  private struct Contents {
    var series: [Key: Series] = [:]
    /// How many series each plugin has.
    var counts: [String: Int] = [:]

    /// Takes back that an event counts a series, and the series if that was all there is of it.
    mutating func release(_ key: Key) {
      guard let place = series.index(forKey: key) else { return }
      series.values[place].pending -= 1
      guard series.values[place].pending == 0, series.values[place].value == nil else { return }
      counts[series.values[place].owner, default: 0] -= 1
      series.remove(at: place)
    }
  }

  private let contents = Mutex(Contents())

  /// No counters.
  package init() {}

  // MARK: The store

  /// What the store holds of counters.
  package struct Kept: Sendable {
    /// Those that could be read.
    package var values: [Key: CounterValue] = [:]
    /// The keys that could not.
    package var unreadable: [UnreadableKeys] = []

    /// Nothing.
    package init() {}

    /// Whether the counter's value may stand in the store and could not be read.
    package func mayHide(_ key: UnsafeRawBufferPointer) -> Bool { unreadable.contains { $0.mayHold(key) } }
  }

  /// Reads the counters that the store holds; those that are damaged are told of, and begin at 0 for rules.
  package func load(from context: EngineContext) throws(StoreError) -> Kept {
    var kept = Kept()
    var unreadable: [UnreadableKeys] = []
    try context.scan(prefix: StoreKey.prefix(.counter), of: .counter, passing: { unreadable.append($0) }) {
      key, value in
      guard case .counter(let name, let labels)? = try? ParsedKey(key), let json = try? JSONValue(parsing: value),
        let number = CounterValue(json: json)
      else {
        let error = StoreError(.corrupt, "a counter has another form")
        context.noteDamage(key, error, malformed: true)
        let next = Array(key) + [0]
        kept.unreadable.append(UnreadableKeys(error: error, after: Array(key.dropLast()), before: next))
        return true
      }
      let counter = Key(name: String(decoding: name, as: UTF8.self), labels: String(decoding: labels, as: UTF8.self))
      kept.values[counter] = number
      return true
    }
    kept.unreadable += unreadable
    let owners = try owners(in: context)
    contents.withLock { [kept] contents in
      contents = Contents()
      for (key, value) in kept.values {
        let owner = owners[key] ?? String(key.name.prefix { $0 != "." })
        contents.series[key] = Series(value: value, owner: owner)
        contents.counts[owner, default: 0] += 1
      }
    }
    return kept
  }

  /// Which plugins the counters belong to; those whose owner can't be read go by their names.
  private func owners(in context: EngineContext) throws(StoreError) -> [Key: String] {
    var owners: [Key: String] = [:]
    try context.scan(prefix: StoreKey.counterOwners, of: .counter, passing: { _ in }) { key, value in
      let parts = key.dropFirst(StoreKey.counterOwners.count).split(
        separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 {
        let name = String(decoding: parts[0], as: UTF8.self), labels = String(decoding: parts[1], as: UTF8.self)
        owners[Key(name: name, labels: labels)] = String(decoding: value, as: UTF8.self)
      }
      return true
    }
    return owners
  }

  // MARK: Counting

  /// Makes room for what a plugin's rules count, until it is committed or given back.
  ///
  /// Says of each delta whether it is the first of its series. When the plugin has no room for one of them its index is answered, and nothing is
  /// changed.
  func reserve(_ deltas: inout [Delta], from start: Int, of plugin: String, limit: Int) -> Int? {
    contents.withLock { contents in
      for index in start..<deltas.count {
        let key = deltas[index].key
        if let place = contents.series.index(forKey: key) {
          contents.series.values[place].pending += 1
          continue
        }
        guard contents.counts[plugin, default: 0] < limit else {
          for delta in deltas[start..<index] { contents.release(delta.key) }
          return index
        }
        contents.series[key] = Series(pending: 1, owner: plugin)
        contents.counts[plugin, default: 0] += 1
        deltas[index].isFirst = true
      }
      return nil
    }
  }

  /// Gives back the room for what is not committed.
  func release(_ deltas: some Collection<Delta>) {
    guard !deltas.isEmpty else { return }
    contents.withLock { contents in
      for delta in deltas { contents.release(delta.key) }
    }
  }

  /// Adds what the events of a batch counted, which is committed.
  package func commit(_ batch: CommitBatch) {
    guard !batch.counters.isEmpty else { return }
    contents.withLock { contents in
      for delta in batch.counters {
        guard let place = contents.series.index(forKey: delta.key) else { continue }
        contents.series.values[place].pending -= 1
        contents.series.values[place].value = (contents.series.values[place].value ?? .integer(0)) + delta.amount
      }
      batch.hasCounted = true
    }
  }

  // MARK: Reading

  /// The counters whose name begins with `prefix`, ordered by name and labels: what is committed, and what `batches` will add, of which the caller
  /// knows that its answer waits for them.
  package func select(prefix: String, with batches: [CommitBatch] = []) -> [(key: Key, value: CounterValue)] {
    var chosen = contents.withLock { contents in
      var chosen: [Key: CounterValue] = [:]
      for (key, series) in contents.series where key.name.utf8.starts(with: prefix.utf8) { chosen[key] = series.value }
      for batch in batches where !batch.hasCounted {
        for delta in batch.counters where delta.key.name.utf8.starts(with: prefix.utf8) {
          chosen[delta.key] = (chosen[delta.key] ?? .integer(0)) + delta.amount
        }
      }
      return chosen.map { (key: $0.key, value: $0.value) }
    }
    chosen.sort { $0.key.name != $1.key.name ? $0.key.name < $1.key.name : $0.key.labels < $1.key.labels }
    return chosen
  }

  /// How many series there are, and which plugins have `limit` or more of them.
  package func usage(limit: Int) -> (series: Int, full: [String]) {
    contents.withLock { contents in
      (contents.series.count, contents.counts.filter { $0.value >= limit }.keys.sorted())
    }
  }
}
