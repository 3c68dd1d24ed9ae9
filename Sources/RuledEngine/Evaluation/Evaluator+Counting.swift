import CLuaBridge
package import RuledCore
import RuledLua
import RuledStore

/// From what rules count to the batch, and to what queries are told.
extension Evaluator {
  /// What an operation adds to a counter.
  static func delta(_ operation: rb_op, _ vm: PluginVM) -> CounterTable.Delta {
    CounterTable.Delta(
      key: CounterTable.Key(
        name: String(decoding: vm.bytes(operation.a, operation.a_length), as: UTF8.self),
        labels: String(decoding: vm.bytes(operation.b, operation.b_length), as: UTF8.self)),
      amount: operation.flags & 1 != 0 ? .number(operation.number) : .integer(operation.integer))
  }

  /// Makes room for what the plugin counts, from `start` on.
  func reserve(_ turn: Turn, from start: Int) throws(Failure) {
    let limit = context.counterLimit
    guard let refused = context.counters.reserve(&turn.deltas, from: start, of: turn.entry.name, limit: limit) else {
      return
    }
    let name = turn.deltas[refused].key.name
    turn.deltas.removeSubrange(start...)
    throw Failure(
      plugin: turn.entry.name, kind: .value,
      message: "there is no room for another counter '\(name)': the plugin has \(limit), names with their labels, "
        + "as many as it may; count with fewer different labels, or raise limits.counters")
  }

  /// Lets what the plugin counted join the batch, with its name where nobody had counted before.
  func writeCounts(of turn: Turn) {
    batch.counters.append(contentsOf: turn.deltas)
    for delta in turn.deltas where delta.isFirst {
      key.removeAll()
      StoreKey.counterOwner(delta.key.name, labels: delta.key.labels, into: key)
      batch.writes.put(key.bytes, turn.entry.nameBytes)
    }
    turn.deltas.removeAll(keepingCapacity: true)
  }

  /// Gives back the room for what a plugin counted that does not join the batch.
  func giveBackCounts(of turn: Turn) {
    context.counters.release(turn.deltas)
    turn.deltas.removeAll(keepingCapacity: true)
  }

  // MARK: Reading

  package func counters(prefix: UnsafeRawBufferPointer, into buffer: ByteBuffer) {
    let chosen =
      answersWait
      ? counters(prefix: String(decoding: prefix, as: UTF8.self))
      : context.counters.select(prefix: String(decoding: prefix, as: UTF8.self))
    buffer.append(UInt8(ascii: "["))
    for (index, counter) in chosen.enumerated() {
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

  /// The counters whose name begins with `prefix`, for an answer that waits until all that was evaluated here is committed.
  ///
  /// Of others nothing is told that is not committed: what their commits fail to count was never counted.
  package func counters(prefix: String) -> [(key: CounterTable.Key, value: CounterValue)] {
    context.counters.select(prefix: prefix, with: inFlight + [batch])
  }
}
