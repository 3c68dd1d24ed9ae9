import RuledCore
import RuledJSON
package import RuledStore

extension CounterTable.Contents {
  /// Ends what a batch of this node has reserved: its amounts are in the values.
  mutating func end(_ batch: CommitBatch) {
    guard !batch.hasCounted else { return }
    batch.hasCounted = true
    if let index = underWay.firstIndex(where: { $0 === batch }) { underWay.removeFirst(index + 1) }
    for delta in batch.counters { release(delta) }
  }
}

extension CounterTable {
  /// Takes the values from a log that another node writes, and this one plays back; to be called before `load`.
  ///
  /// `awaitPlayback` waits until what whoever reads counters may know of is played back.
  package func follow(awaitPlayback: @escaping @Sendable () -> Void) {
    contents.withLock { $0.awaitPlayback = awaitPlayback }
  }

  /// Notes that a batch of this node is about to go to the log.
  package func begin(_ batch: CommitBatch) {
    if !batch.counters.isEmpty { contents.withLock { $0.underWay.append(batch) } }
  }

  /// Notes that a batch does not go to the log after all.
  package func takeBack(_ batch: CommitBatch) {
    if !batch.counters.isEmpty { contents.withLock { $0.underWay.removeAll { $0 === batch } } }
  }

  /// Takes the values that a commit of the log has, after the store has them; valid during the call.
  ///
  /// If it is a batch of this node, that has counted: the log's writer adds to what the batch writes.
  package func notePlayed(_ writes: WriteSet) {
    var values: [(key: Key, value: CounterValue)] = []
    writes.forEach { write in
      guard case .put(let key, let value) = write, key.first == StoreKey.Kind.counter.rawValue,
        case .counter(let name, let labels)? = try? ParsedKey(key), let json = try? JSONValue(parsing: value),
        let number = CounterValue(json: json)
      else { return }
      values.append((Key(name: name, labels: labels), number))
    }
    guard !values.isEmpty else { return }
    contents.withLock { contents in
      for (key, value) in values {
        contents.set(key, to: value) { Self.owner(of: key, in: writes) ?? Self.owner(byNameOf: key) }
      }
      if let own = contents.underWay.first(where: { writes.begins(with: $0.writes) }) { contents.end(own) }
    }
  }
}

extension WriteSet {
  /// Whether the first writes are those of another set.
  fileprivate func begins(with other: WriteSet) -> Bool {
    other.byteCount <= byteCount && ByteOrder.equal(records.extracting(0..<other.byteCount), other.records)
  }
}
