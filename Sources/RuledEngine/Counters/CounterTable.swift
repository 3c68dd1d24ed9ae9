package import RuledCore
import RuledJSON
import RuledLua
package import RuledStore
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
    var series: [Key: Series] = [:]
    /// How many series each plugin has.
    var counts: [String: Int] = [:]

    /// Reserves room for an amount of a plugin, and sets its `isFirst`.
    mutating func reserve(_ delta: inout Delta, of plugin: String, limit: Int) -> Refusal? {
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
    mutating func release(_ delta: Delta) {
      guard let index = series.index(forKey: delta.key) else { return }
      series.values[index].release(delta.amounts, delta.amount)
      guard series.values[index].pending == 0, series.values[index].value == nil else { return }
      counts[series.values[index].owner, default: 0] -= 1
      series.remove(at: index)
    }
  }

  private let contents = Mutex(Contents())

  package init() {}

  // MARK: The store

  /// The counters in the store.
  package struct Stored: Sendable {
    /// The values that could be read.
    package var values: [Key: CounterValue] = [:]
    /// The keys that could not be read.
    package var unreadable: [UnreadableKeys] = []
    /// The keys of counters under labels as older builds wrote them, by what these counters are now: the next write of one removes them.
    private var renamed: [Key: [[UInt8]]] = [:]

    package init() {}

    /// Whether the counter may have a value that could not be read.
    package func mayHide(_ key: ByteView) -> Bool { unreadable.contains { $0.mayHold(key) } }

    /// Adds a stored value to its counter's.
    fileprivate mutating func add(_ value: CounterValue, name: ByteView, labels: ByteView, at stored: ByteView) {
      let key = Key.stored(name: name, labels: labels)
      values[key] = values[key].map { $0 + value } ?? value
      if !labels.elementsEqual(key.labels.utf8) { renamed[key, default: []].append(Array(stored)) }
    }

    /// Adds the removal of a counter's earlier keys to the writes of a batch that stores its value; returns them for `restore`.
    package mutating func removeRenamed(_ key: Key, in writes: WriteSet) -> [[UInt8]] {
      guard !renamed.isEmpty, let keys = renamed.removeValue(forKey: key) else { return [] }
      for key in keys { key.withView { writes.delete($0) } }
      return keys
    }

    /// Takes back the removal of keys by a batch that was not committed.
    package mutating func restore(_ keys: [[UInt8]], of key: Key) {
      if !keys.isEmpty { renamed[key] = keys }
    }
  }

  /// Reads the counters from the store.
  ///
  /// Damaged ones are noted in the damage report, and begin at 0 for rules.
  package func load(from context: EngineContext) throws(StoreError) -> Stored {
    var stored = Stored()
    var unreadable: [UnreadableKeys] = []
    try context.scan(prefix: StoreKey.prefix(.counter), of: .counter, passing: { unreadable.append($0) }) {
      key, value in
      guard case .counter(let name, let labels)? = try? ParsedKey(key), let json = try? JSONValue(parsing: value),
        let number = CounterValue(json: json)
      else {
        let error = StoreError(.corrupt, "a counter has another form")
        context.noteDamage(key, error, malformed: true)
        let next = Array(key) + [0]
        stored.unreadable.append(UnreadableKeys(error: error, after: Array(key.dropLast()), before: next))
        return true
      }
      stored.add(number, name: name, labels: labels, at: key)
      return true
    }
    stored.unreadable += unreadable
    let owners = try owners(in: context)
    contents.withLock { [stored] contents in
      contents = Contents()
      for (key, value) in stored.values {
        let owner = owners[key] ?? String(key.name.prefix { $0 != "." })
        contents.series[key] = Series(value: value, owner: owner)
        contents.counts[owner, default: 0] += 1
      }
    }
    return stored
  }

  /// The owners of the counters.
  ///
  /// A counter without a readable owner belongs to the plugin that its name begins with.
  private func owners(in context: EngineContext) throws(StoreError) -> [Key: String] {
    var owners: [Key: String] = [:]
    try context.scan(prefix: StoreKey.counterOwners, of: .counter, passing: { _ in }) { key, value in
      let counter = key.extracting(StoreKey.counterOwners.count...)
      if let end = counter.firstIndex(of: 0) {
        let owned = Key.stored(name: counter.extracting(..<end), labels: counter.extracting((end + 1)...))
        owners[owned] = String(decoding: value, as: UTF8.self)
      }
      return true
    }
    return owners
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
    _ deltas: inout [Delta], from start: Int, of plugin: String, limit: Int
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
  func release(_ deltas: some Collection<Delta>) {
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
  ) -> [(key: Key, value: CounterValue)] {
    var chosen = contents.withLock { contents in
      var chosen: [Key: CounterValue] = [:]
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

extension CounterTable {
  /// What one plugin counts for one event.
  ///
  /// Room in the table is reserved for it until it joins a batch or is released.
  struct Reservation {
    private var deltas: [Delta] = []

    /// How many amounts there are.
    var count: Int { deltas.count }

    /// Adds an amount, for which room must then be reserved.
    mutating func append(_ key: Key, _ amount: CounterValue) { deltas.append(Delta(key, amount)) }

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
}
