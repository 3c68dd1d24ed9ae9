import RuledCore
import RuledStore

/// The `once` keys that plugins claimed for subjects.
///
/// They also hold the ids of effects with a key, under names that no rule can use, so that such an effect is recorded once.
final class OnceKeys {
  private let batches: BatchQueue
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 16)

  init(batches: BatchQueue) { self.batches = batches }

  /// Whether the plugin has claimed the key for the subject and the claim has not expired.
  func isClaimed(_ name: ByteView, of plugin: String, subject: Subject, now: Int64) throws(RequestError) -> Bool {
    writeKey(name, of: plugin, subject)
    return try batches.read(key.bytes, of: subject, into: value) && Self.isValid(value.bytes, at: now)
  }

  /// Whether a stored claim has not expired.
  static func isValid(_ claim: ByteView, at now: Int64) -> Bool {
    StoredExpiry.read(claim).map { $0 == 0 || $0 > now } ?? false
  }

  /// Claims a key for so many seconds, or for ever.
  func claim(_ name: ByteView, for seconds: Double?, of plugin: String, subject: Subject, now: Int64) {
    writeKey(name, of: plugin, subject)
    put(expiry: seconds.map { now + Int64($0 * 1e6) } ?? 0)
  }

  func give(_ given: GivenSubject.Once, subject: Subject) {
    writeKey(given.key, of: given.plugin, subject)
    put(expiry: given.expires?.microseconds ?? 0)
    subject.lastCommit = batches.current.number
  }

  /// Whether an effect of that id is recorded.
  func isRecorded(effect id: ByteView, of plugin: String, subject: Subject) throws(RequestError) -> Bool {
    writeKey(effect: id, of: plugin, subject)
    return try batches.read(key.bytes, of: subject, into: value)
  }

  func keep(effect id: ByteView, of plugin: String, subject: Subject) {
    writeKey(effect: id, of: plugin, subject)
    put(expiry: 0)
  }

  func removeAll(of plugin: String, subject: Subject) throws(RequestError) {
    for claim in try batches.readAll(.once, of: subject.name, plugin: plugin) {
      claim.key.withView { batches.current.writes.delete($0) }
    }
    subject.lastCommit = batches.current.number
  }

  private func writeKey(_ name: some KeyPart, of plugin: String, _ subject: Subject) {
    StoreKey.named(.once, subject.name, plugin: plugin, name: name, into: key)
  }

  private func writeKey(effect id: ByteView, of plugin: String, _ subject: Subject) {
    writeKey([1] + Array(id), of: plugin, subject)
  }

  private func put(expiry: Int64) {
    value.removeAll()
    value.append(bigEndian: UInt64(bitPattern: expiry))
    batches.current.writes.put(key.bytes, value.bytes)
  }
}
