import RuledCore
import RuledStore

/// Reading what the store holds or soon will: what is not yet durable counts.
extension Evaluator {
  /// Appends the value under `key`; false when there is none.
  func read(_ key: UnsafeRawBufferPointer, of subject: Subject, into buffer: ByteBuffer) throws(RequestError) -> Bool {
    if subject.lastCommit > durable {
      var next: CommitBatch? = batch
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
    return try readCommitted(key, of: subject.name, into: buffer)
  }

  /// Appends the value that is committed under a subject's `key`; false when there is none.
  func readCommitted(
    _ key: UnsafeRawBufferPointer, of subject: UnsafeRawBufferPointer, into buffer: ByteBuffer
  ) throws(RequestError) -> Bool {
    do throws(StoreError) {
      let isThere = try context.store.get(key, into: buffer)
      context.isWhole(key)
      return isThere
    } catch { throw damaged(key, of: subject, error) }
  }

  /// Notes that a subject's key can't be read, and answers what requests that need it come to.
  func damaged(
    _ key: UnsafeRawBufferPointer, of subject: UnsafeRawBufferPointer, _ error: StoreError, malformed: Bool = false
  ) -> RequestError {
    context.isDamaged(key, of: Array(subject), error, malformed: malformed)
    return error.requestError(reading: key.first.flatMap { StoreKey.Kind(rawValue: $0) } ?? .record)
  }

  /// All keys that begin with `prefix`, with their values, in byte order.
  func readAll(
    prefix: [UInt8], of subject: UnsafeRawBufferPointer
  ) throws(RequestError) -> [(key: [UInt8], value: [UInt8])] {
    var found: [[UInt8]: [UInt8]] = [:]
    do throws(StoreError) {
      try context.store.scan(prefix: prefix) { key, value in
        found[Array(key)] = Array(value)
        return true
      }
      context.isWhole(prefix)
    } catch { throw prefix.withUnsafeBytes { damaged($0, of: subject, error) } }
    for batch in inFlight + [batch] {
      batch.writes.forEach { operation in
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
  func deleteAll(prefix: [UInt8], of subject: UnsafeRawBufferPointer) throws(RequestError) {
    for entry in try readAll(prefix: prefix, of: subject) { entry.key.withUnsafeBytes { batch.writes.delete($0) } }
  }

  /// All keys of a kind and a subject.
  func readAll(_ kind: StoreKey.Kind, _ subject: UnsafeRawBufferPointer) throws(RequestError) -> [(
    key: [UInt8], value: [UInt8]
  )] {
    let prefix = ByteBuffer(capacity: 300)
    StoreKey.subjectPrefix(kind, subject, into: prefix)
    return try readAll(prefix: Array(prefix.bytes), of: subject)
  }
}
