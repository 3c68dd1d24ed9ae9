package import RuledCore
package import RuledStore
import Synchronization

/// The counters that all subjects share, as rules see them: what was evaluated counts at once, and is taken back when its commit fails.
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
  }

  private let values = Mutex<[Key: CounterValue]>([:])

  /// No counters.
  package init() {}

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
        context.isDamaged(key, error, malformed: true)
        let next = Array(key) + [0]
        kept.unreadable.append(UnreadableKeys(error: error, after: Array(key.dropLast()), before: next))
        return true
      }
      let counter = Key(name: String(decoding: name, as: UTF8.self), labels: String(decoding: labels, as: UTF8.self))
      kept.values[counter] = number
      return true
    }
    kept.unreadable += unreadable
    let loaded = kept.values
    values.withLock { $0 = loaded }
    return kept
  }

  /// Adds what an event counted.
  package func add(_ deltas: [Delta]) {
    guard !deltas.isEmpty else { return }
    values.withLock { values in
      for delta in deltas { values[delta.key] = (values[delta.key] ?? .integer(0)) + delta.amount }
    }
  }

  /// Takes back what was added when its commit failed.
  package func remove(_ deltas: [Delta]) {
    guard !deltas.isEmpty else { return }
    values.withLock { values in
      for delta in deltas { values[delta.key] = (values[delta.key] ?? .integer(0)) + -delta.amount }
    }
  }

  /// The counters whose name begins with `prefix` and whose labels have all members of `labels`, ordered by name and labels.
  package func select(prefix: String, labels: JSONObject = JSONObject()) -> [(key: Key, value: CounterValue)] {
    let chosen = values.withLock { values in values.filter { $0.key.name.utf8.starts(with: prefix.utf8) } }
    return chosen.filter { entry in
      guard !labels.isEmpty else { return true }
      let own = (try? JSONValue(parsing: entry.key.labels))?.objectValue ?? JSONObject()
      return labels.allSatisfy { own[$0.name] == $0.value }
    }
    .sorted { $0.key.name != $1.key.name ? $0.key.name < $1.key.name : $0.key.labels < $1.key.labels }
    .map { ($0.key, $0.value) }
  }

  /// Appends the chosen counters as `[{name, labels, value}]`.
  package func write(prefix: String, labels: JSONObject = JSONObject(), to buffer: ByteBuffer) {
    buffer.append(UInt8(ascii: "["))
    for (index, counter) in select(prefix: prefix, labels: labels).enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      buffer.append("{\"name\":" as StaticString)
      buffer.append(jsonString: counter.key.name)
      buffer.append(",\"labels\":" as StaticString)
      buffer.append(contentsOf: counter.key.labels)
      buffer.append(",\"value\":" as StaticString)
      counter.value.json.write(to: buffer)
      buffer.append(UInt8(ascii: "}"))
    }
    buffer.append(UInt8(ascii: "]"))
  }
}
