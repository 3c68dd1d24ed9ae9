import RuledCore
import RuledStore

/// Reading what the store holds or soon will: what is not yet durable counts.
extension Evaluator {
  /// Appends the value under `key`; false when there is none.
  func read(_ key: UnsafeRawBufferPointer, of subject: Subject, into buffer: ByteBuffer) throws(RequestError) -> Bool {
    if subject.lastCommit > durable {
      var next: CommitUnit? = unit
      var left = inFlight.count
      while let asked = next {
        switch asked.writes.lookup(key) {
        case .absent: break
        case .deleted: return false
        case .value(let bytes):
          buffer.append(bytes)
          return true
        }
        left -= 1
        next = left >= 0 ? inFlight[left] : nil
      }
    }
    return try readCommitted(key, into: buffer)
  }

  /// Appends the value that is committed under `key`; false when there is none.
  func readCommitted(_ key: UnsafeRawBufferPointer, into buffer: ByteBuffer) throws(RequestError) -> Bool {
    do throws(StoreError) { return try context.store.get(key, into: buffer) } catch { throw error.requestError }
  }

  /// All keys that begin with `prefix`, with their values, in byte order.
  func readAll(prefix: [UInt8]) throws(RequestError) -> [(key: [UInt8], value: [UInt8])] {
    var found: [[UInt8]: [UInt8]] = [:]
    do throws(StoreError) {
      try context.store.scan(prefix: prefix) { key, value in
        found[Array(key)] = Array(value)
        return true
      }
    } catch { throw error.requestError }
    for unit in inFlight + [unit] {
      unit.writes.forEach { operation in
        switch operation {
        case .put(let key, let value): if key.starts(with: prefix) { found[Array(key)] = Array(value) }
        case .delete(let key): if key.starts(with: prefix) { found[Array(key)] = nil }
        }
      }
    }
    return found.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
  }

  /// Deletes all keys that begin with `prefix`, those among them that are not yet durable.
  ///
  /// Each is written as a key of its own: to read what stands in a range keeps nobody waiting, and an error fails who asked alone.
  func deleteAll(prefix: [UInt8]) throws(RequestError) {
    for entry in try readAll(prefix: prefix) { entry.key.withUnsafeBytes { unit.writes.delete($0) } }
  }

  /// All keys of a kind and a subject.
  func readAll(_ kind: StoreKey.Kind, _ subject: some KeyPart) throws(RequestError) -> [(
    key: [UInt8], value: [UInt8]
  )] {
    let prefix = ByteBuffer(capacity: 300)
    StoreKey.subjectPrefix(kind, subject, into: prefix)
    return try readAll(prefix: Array(prefix.bytes))
  }
}
