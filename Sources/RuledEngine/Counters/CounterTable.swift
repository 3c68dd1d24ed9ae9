import Synchronization

/// The durable values of the counters, which all subjects share, and the plugins that own them.
///
/// A series is a name with its labels. It belongs to the plugin that counted it first, whatever its name. Each plugin may own a limited number of
/// series, so that none uses up the limit of another.
package final class CounterTable: Sendable {
  private struct Series {
    /// The durable value; nil before the first commit.
    var value: CounterValue?
    /// How many amounts are reserved and not yet committed.
    var pending = 0
    /// What these come to, above zero and below: whatever becomes of each, the value stays between both.
    private var rise = CounterValue.integer(0), fall = CounterValue.integer(0)
    let owner: String

    init(value: CounterValue? = nil, owner: String) {
      self.value = value
      self.owner = owner
    }

    /// Reserves an amount; false if the value could then overflow.
    mutating func reserve(_ amount: CounterValue) -> Bool {
      guard let sum = (amount.isNegative ? fall : rise).adding(amount), (value ?? .integer(0)).adding(sum) != nil else {
        return false
      }
      if amount.isNegative { fall = sum } else { rise = sum }
      pending += 1
      return true
    }

    /// Ends the reservation of amounts that come to `sum`.
    mutating func release(_ amounts: Int, _ sum: CounterValue) {
      pending -= amounts
      if pending == 0 {
        (rise, fall) = (.integer(0), .integer(0))
      } else if sum.isNegative {
        fall = fall + -sum
      } else {
        rise = rise + -sum
      }
    }
  }

  private struct Contents {
    var series: [CounterKey: Series] = [:]
    /// How many series each plugin has.
    var counts: [String: Int] = [:]

    /// Reserves room for an amount of a plugin, and sets its `isFirst`.
    mutating func reserve(_ delta: inout CounterDelta, of plugin: String, limit: Int) -> Refusal? {
      if let index = series.index(forKey: delta.key) {
        return series.values[index].reserve(delta.amount) ? nil : .overflows
      }
      guard counts[plugin, default: 0] < limit else { return .isFull }
      var made = Series(owner: plugin)
      guard made.reserve(delta.amount) else { return .overflows }
      series[delta.key] = made
      counts[plugin, default: 0] += 1
      delta.isFirst = true
      return nil
    }

    /// Releases what is reserved for the amounts of a delta, and removes the series if it has no value.
    mutating func release(_ delta: CounterDelta) {
      guard let index = series.index(forKey: delta.key) else { return }
      series.values[index].release(delta.amounts, delta.amount)
      guard series.values[index].pending == 0, series.values[index].value == nil else { return }
      counts[series.values[index].owner, default: 0] -= 1
      series.remove(at: index)
    }
  }

  private let contents = Mutex(Contents())

  init() {}

  /// Begins with the counters of the store.
  func begin(with values: [CounterKey: CounterValue], owner: (CounterKey) -> String) {
    contents.withLock { contents in
      contents = Contents()
      for (key, value) in values {
        let owner = owner(key)
        contents.series[key] = Series(value: value, owner: owner)
        contents.counts[owner, default: 0] += 1
      }
    }
  }

  // MARK: Counting

  /// Why an amount can't be counted.
  enum Refusal {
    /// The plugin has as many series as it may.
    case isFull
    case overflows
  }

  /// Reserves room for amounts of a plugin, until they are committed or released, and sets `isFirst` of each.
  ///
  /// - Returns: nil, or the index of the first amount that can't be counted; nothing is reserved then.
  func reserve(
    _ deltas: inout [CounterDelta], from start: Int, of plugin: String, limit: Int
  ) -> (index: Int, refusal: Refusal)? {
    contents.withLock { contents in
      for index in start..<deltas.count {
        let refusal = contents.reserve(&deltas[index], of: plugin, limit: limit)
        guard let refusal else { continue }
        for delta in deltas[start..<index] { contents.release(delta) }
        return (index, refusal)
      }
      return nil
    }
  }

  /// Releases amounts that are not committed.
  func release(_ deltas: some Collection<CounterDelta>) {
    guard !deltas.isEmpty else { return }
    contents.withLock { contents in
      for delta in deltas { contents.release(delta) }
    }
  }

  /// Adds the amounts of a batch that is durable.
  package func commit(_ batch: CommitBatch) {
    guard !batch.counters.isEmpty else { return }
    contents.withLock { contents in
      for delta in batch.counters {
        guard let index = contents.series.index(forKey: delta.key) else { continue }
        contents.series.values[index].release(delta.amounts, delta.amount)
        contents.series.values[index].value = (contents.series.values[index].value ?? .integer(0)) + delta.amount
      }
      batch.hasCounted = true
    }
  }

  // MARK: Reading

  /// The counters whose name begins with `prefix`, ordered by name and labels, with the amounts of `batches` added.
  ///
  /// With `batches`, the answer must wait until they are durable. Once `isOver` is true the answer is wrong, and comes soon.
  package func select(
    prefix: String, with batches: [CommitBatch] = [], until isOver: () -> Bool = { false }
  ) -> [(key: CounterKey, value: CounterValue)] {
    var chosen = contents.withLock { contents in
      var chosen: [CounterKey: CounterValue] = [:]
      for (key, series) in contents.series where key.name.utf8.starts(with: prefix.utf8) {
        if isOver() { break }
        chosen[key] = series.value
      }
      for batch in batches where !batch.hasCounted {
        for delta in batch.counters where delta.key.name.utf8.starts(with: prefix.utf8) {
          chosen[delta.key] = (chosen[delta.key] ?? .integer(0)) + delta.amount
        }
      }
      return chosen.map { (key: $0.key, value: $0.value) }
    }
    chosen.sort { left, right in
      if isOver() { return false }
      return left.key.name != right.key.name ? left.key.name < right.key.name : left.key.labels < right.key.labels
    }
    return chosen
  }

  /// How many series each plugin has.
  package var counts: [String: Int] { contents.withLock { $0.counts } }

  /// How many series there are, and which plugins have `limit` or more of them.
  package func usage(limit: Int) -> (series: Int, full: [String]) {
    contents.withLock { contents in
      (contents.series.count, contents.counts.filter { $0.value >= limit }.keys.sorted())
    }
  }
}
