import RuledCore
import Synchronization

/// The durable values of the counters, which all subjects share, and the plugins that own them.
///
/// A series is a name with its labels. It belongs to the plugin that counted it first, whatever its name. Each plugin may own a limited number of
/// series, so that none uses up the limit of another; label sets without room are counted under `{ other = "true" }` of its name.
package final class CounterTable: Sendable {
  private struct Series {
    /// The durable value; nil before the first commit.
    var total: CounterTotal?
    /// How many amounts are reserved and not yet committed.
    var pending = 0
    /// The sums of their positive and negative amounts: the value stays between both, whichever amounts are committed.
    private var rise = CounterValue.integer(0), fall = CounterValue.integer(0)
    let owner: String

    init(total: CounterTotal? = nil, owner: String) {
      self.total = total
      self.owner = owner
    }

    /// Reserves an amount; false if the value could then overflow.
    mutating func reserve(_ delta: CounterDelta) -> Bool {
      let amount = delta.amount, value = total(at: delta.second)?.value ?? .integer(0)
      guard let sum = (amount.isNegative ? fall : rise).adding(amount), value.adding(sum) != nil else { return false }
      if amount.isNegative { fall = sum } else { rise = sum }
      pending += 1
      return true
    }

    /// Ends the reservation of amounts with the total `sum`.
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

    /// The durable value, unless the counter is over by then.
    func total(at second: UInt32) -> CounterTotal? { total.flatMap { $0.isOver(at: second) ? nil : $0 } }
  }

  private struct Contents {
    /// The seconds between a plugin's searches for counters that are over, while it has no room.
    private static let patience: UInt32 = 60

    var series: [CounterKey: Series] = [:]
    /// The keys of the series by name, and the names in the order of their bytes, so that a search by prefix costs what it finds.
    private var keys: [String: Set<CounterKey>] = [:]
    private var names: [String] = []
    /// Each plugin's number of series, without the series for further labels.
    var counts: [String: Int] = [:]
    /// Each plugin's number of series for further labels.
    private var others: [String: Int] = [:]
    /// The time of each plugin's last search for counters that are over.
    private var looked: [String: UInt32] = [:]

    mutating func add(_ key: CounterKey, _ made: Series) {
      series[key] = made
      if keys[key.name] == nil { names.insert(key.name, at: index(of: key.name)) }
      keys[key.name, default: []].insert(key)
      if key.isOther { others[made.owner, default: 0] += 1 } else { counts[made.owner, default: 0] += 1 }
    }

    mutating func remove(_ key: CounterKey) {
      guard let removed = series.removeValue(forKey: key) else { return }
      keys[key.name]?.remove(key)
      if keys[key.name]?.isEmpty == true {
        keys[key.name] = nil
        names.remove(at: index(of: key.name))
      }
      if key.isOther { others[removed.owner, default: 0] -= 1 } else { counts[removed.owner, default: 0] -= 1 }
    }

    /// Reserves room for an amount of a plugin, and sets its `isFirst`; false if the counter could overflow.
    ///
    /// Without room for another series, the amount goes to the series for further labels of its name.
    mutating func reserve(_ delta: inout CounterDelta, of plugin: String, limit: Int) -> Bool {
      if let index = series.index(forKey: delta.key) { return series.values[index].reserve(delta) }
      if !hasRoom(for: delta, of: plugin, limit: limit) {
        let isFull = others[plugin, default: 0] >= limit
        delta.key = CounterKey.other(of: isFull ? "\(plugin).other" : delta.key.name)
        if let index = series.index(forKey: delta.key) { return series.values[index].reserve(delta) }
      }
      var made = Series(owner: plugin)
      guard made.reserve(delta) else { return false }
      add(delta.key, made)
      delta.isFirst = true
      return true
    }

    private mutating func hasRoom(for delta: CounterDelta, of plugin: String, limit: Int) -> Bool {
      if delta.key.isOther { return others[plugin, default: 0] < limit }
      guard counts[plugin, default: 0] >= limit else { return true }
      if let last = looked[plugin], delta.second < last.addingReportingOverflow(Self.patience).partialValue {
        return false
      }
      looked[plugin] = delta.second
      let over = series.filter { key, series in
        series.owner == plugin && series.pending == 0 && series.total != nil && series.total(at: delta.second) == nil
      }
      for key in over.keys { remove(key) }
      return counts[plugin, default: 0] < limit
    }

    /// The series whose names begin with `prefix`, in order, until `isOver`, as far as they have a `value`; nil if there are more than `most`.
    func search(
      prefix: String, most: Int, until isOver: () -> Bool, value: (CounterKey) -> CounterValue?
    ) -> [(key: CounterKey, value: CounterValue)]? {
      var found: [(key: CounterKey, value: CounterValue)] = []
      for name in names[index(of: prefix)...] {
        guard name.utf8.starts(with: prefix.utf8), !isOver() else { break }
        let first = found.count
        for key in keys[name, default: []] {
          guard let value = value(key) else { continue }
          guard found.count < most else { return nil }
          found.append((key, value))
        }
        if found.count > first + 1 { found[first...].sort { Self.isBefore($0.key.labels, $1.key.labels) } }
      }
      return found
    }

    /// The index of the first name at or behind `name`.
    private func index(of name: String) -> Int { names.partitioningIndex { !Self.isBefore($0, name) } }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
      left.withView { left in right.withView { ByteOrder.compare(left, $0) < 0 } }
    }

    /// Releases the reservation of a delta's amounts, and removes the series if it has no value.
    mutating func release(_ delta: CounterDelta) {
      guard let index = series.index(forKey: delta.key) else { return }
      series.values[index].release(delta.amounts, delta.amount)
      if series.values[index].pending == 0, series.values[index].total == nil { remove(delta.key) }
    }
  }

  private let contents = Mutex(Contents())

  func begin(with totals: [CounterKey: CounterTotal], owner: (CounterKey) -> String) {
    contents.withLock { contents in
      contents = Contents()
      for (key, total) in totals { contents.add(key, Series(total: total, owner: owner(key))) }
    }
  }

  // MARK: Counting

  /// Reserves room for amounts of a plugin, until they are committed or released, and sets `isFirst` of each.
  ///
  /// - Returns: nil, or the index of the first amount whose counter would overflow; nothing is reserved then.
  func reserve(_ deltas: inout [CounterDelta], from start: Int, of plugin: String, limit: Int) -> Int? {
    contents.withLock { contents in
      for index in start..<deltas.count where !contents.reserve(&deltas[index], of: plugin, limit: limit) {
        for delta in deltas[start..<index] { contents.release(delta) }
        return index
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
  package func addDurable(_ batch: CommitBatch) {
    guard !batch.counters.isEmpty else { return }
    contents.withLock { contents in
      for delta in batch.counters {
        guard let index = contents.series.index(forKey: delta.key) else { continue }
        contents.series.values[index].release(delta.amounts, delta.amount)
        contents.series.values[index].total = contents.series.values[index].total.adding(delta)
      }
      for key in batch.removedCounters {
        guard let index = contents.series.index(forKey: key) else { continue }
        contents.series.values[index].total = nil
        if contents.series.values[index].pending == 0 { contents.remove(key) }
      }
      batch.hasCounted = true
    }
  }

  // MARK: Reading

  /// The counters whose name begins with `prefix`, ordered by the bytes of name and labels, with the amounts of `batches` added.
  ///
  /// Counters that are over at `now`, in microseconds, are left out. A search costs what it finds, however many others there are.
  /// With `batches`, the answer must wait until they are durable. Once `isOver` is true, it returns soon with a wrong answer.
  package func select(
    prefix: String, now: Int64 = 0, with batches: [CommitBatch] = [], until isOver: () -> Bool = { false }
  ) -> [(key: CounterKey, value: CounterValue)] {
    select(prefix: prefix, most: .max, now: now, with: batches, until: isOver) ?? []
  }

  /// The same, or nil if there are more than `most`, which costs no more than to find so many.
  func select(
    prefix: String, most: Int, now: Int64, with batches: [CommitBatch], until isOver: () -> Bool
  ) -> [(key: CounterKey, value: CounterValue)]? {
    let second = CounterDelta.second(now)
    return contents.withLock { contents in
      var changed: [CounterKey: CounterTotal] = [:]
      for batch in batches where !batch.hasCounted {
        for delta in batch.counters {
          changed[delta.key] = (changed[delta.key] ?? contents.series[delta.key]?.total).adding(delta)
        }
      }
      return contents.search(prefix: prefix, most: most, until: isOver) { key in
        guard let total = changed[key] ?? contents.series[key]?.total, !total.isOver(at: second) else { return nil }
        return total.value
      }
    }
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

extension CounterTotal? {
  /// The total after a delta, of a counter that may be new.
  func adding(_ delta: CounterDelta) -> CounterTotal {
    var total = self ?? CounterTotal()
    total.add(delta)
    return total
  }
}
