package import RuledCore
import RuledJSON
package import RuledStore

/// The counters in the store.
package struct StoredCounters: Sendable {
  /// The values that could be read.
  package var values: [CounterKey: CounterValue] = [:]
  /// The keys that could not be read.
  package var unreadable: [UnreadableKeys] = []
  /// The keys of counters under labels as older builds wrote them, by what these counters are now: the next write of one removes them.
  private var renamed: [CounterKey: [[UInt8]]] = [:]

  /// No counters.
  package init() {}

  /// Whether the counter may have a value that could not be read.
  package func mayHide(_ key: ByteView) -> Bool { unreadable.contains { $0.mayContain(key) } }

  /// Adds a stored value to its counter's.
  fileprivate mutating func add(_ value: CounterValue, name: ByteView, labels: ByteView, at stored: ByteView) {
    let key = CounterKey.stored(name: name, labels: labels)
    values[key] = values[key].map { $0 + value } ?? value
    if !labels.elementsEqual(key.labels.utf8) { renamed[key, default: []].append(Array(stored)) }
  }

  /// Adds the removal of a counter's earlier keys to the writes of a batch that stores its value; returns them for `restore`.
  package mutating func removeRenamed(_ key: CounterKey, in writes: WriteSet) -> [[UInt8]] {
    guard !renamed.isEmpty, let keys = renamed.removeValue(forKey: key) else { return [] }
    for key in keys { key.withView { writes.delete($0) } }
    return keys
  }

  /// Takes back the removal of keys by a batch that was not committed.
  package mutating func restore(_ keys: [[UInt8]], of key: CounterKey) {
    if !keys.isEmpty { renamed[key] = keys }
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
    begin(with: stored.values) { key in owners[key] ?? String(key.name.prefix { $0 != "." }) }
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
        owners[owned] = String(decoding: value, as: UTF8.self)
      }
      return true
    }
    return owners
  }
}
