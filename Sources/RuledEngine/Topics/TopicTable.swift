import RuledCore
import RuledJSON
import RuledStore

/// The members of plugins' topics, as one worker changes them for its subjects.
///
/// A membership has a key of the subject's own, for its rules, and a key of the topic's, by which publications find the member. The number of a
/// topic's members is the sum of the workers' own counts, so that no two workers write one key.
final class TopicTable {
  /// The publication of a message: stored around it, as the events that follow do not depend on it.
  struct Publication {
    /// `plugin/name`.
    let topic: ByteView
    let number: UInt64

    /// Reads it around a stored message; nil for a message of its own.
    init?(_ stored: TapeValue) {
      guard let topic = stored.member("topic")?.string, let number = stored.member("published")?.integer else {
        return nil
      }
      self.topic = topic
      self.number = UInt64(clamping: number)
    }
  }

  /// Workers with numbers from this one on are none of a daemon's: each counts for itself.
  static let firstOwnWorker: UInt64 = 1 << 32

  private let batches: BatchQueue
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 16)

  init(_ batches: BatchQueue) { self.batches = batches }

  // MARK: Memberships

  func isMember(_ subject: Subject, of name: some KeyPart, of plugin: some KeyPart) throws(RequestError) -> Bool {
    writeKey(name, plugin, subject)
    return try batches.read(key.bytes, of: subject, into: value)
  }

  func join(_ name: some KeyPart, of plugin: some KeyPart, _ subject: Subject) throws(RequestError) {
    guard try !isMember(subject, of: name, of: plugin) else { return }
    let count = try ownCount(name, plugin, subject)
    writeKey(name, plugin, subject)
    batches.current.writes.put(key.bytes, ByteView.empty)
    write(count + 1, name, plugin)
    batches.current.topics.append(.join(member: Self.member(name, plugin, subject.name)))
    subject.lastCommit = batches.current.number
  }

  func leave(_ name: some KeyPart, of plugin: some KeyPart, _ subject: Subject) throws(RequestError) {
    guard try isMember(subject, of: name, of: plugin) else { return }
    let count = try ownCount(name, plugin, subject)
    writeKey(name, plugin, subject)
    batches.current.writes.delete(key.bytes)
    write(count - 1, name, plugin)
    batches.current.topics.append(.leave(member: Self.member(name, plugin, subject.name)))
    subject.lastCommit = batches.current.number
  }

  func leaveAll(of plugin: String, _ subject: Subject) throws(RequestError) {
    try leave(try batches.readAll(.membership, of: subject.name, plugin: plugin), subject)
  }

  /// Ends memberships of the subject, given by their keys.
  func leave(_ memberships: [StoredPair], _ subject: Subject) throws(RequestError) {
    for membership in memberships {
      try membership.read { (key, _) throws(RequestError) in
        guard case .membership(_, let plugin, let name)? = key else { return }
        try leave(name, of: plugin, subject)
      }
    }
  }

  // MARK: Counts

  /// How many members a topic has; changes of other workers count once they are durable.
  func count(_ name: some KeyPart, of plugin: some KeyPart) throws(RequestError) -> Int {
    let prefix = StoreKey.bytes { StoreKey.memberCounts(plugin: plugin, name: name, into: $0) }
    let own = batches.worker
    return try batches.readAll(prefix: prefix, of: ByteView.empty).reduce(0) { sum, entry in
      entry.read { key, value in
        let worker = if case .memberCount(_, _, let worker)? = key { worker } else { own }
        return worker == own || worker < Self.firstOwnWorker ? sum + Int(Self.readNumber(value) ?? 0) : sum
      }
    }
  }

  static func readNumber(_ value: ByteView) -> Int64? {
    value.number.map { Int64(bitPattern: $0) }
  }

  private func ownCount(
    _ name: some KeyPart, _ plugin: some KeyPart, _ subject: Subject
  ) throws(RequestError) -> Int64 {
    StoreKey.memberCount(plugin: plugin, name: name, worker: batches.worker, into: key)
    guard try batches.readOwn(key.bytes, of: subject.name, into: value) else { return 0 }
    return Self.readNumber(value.bytes) ?? 0
  }

  private func write(_ count: Int64, _ name: some KeyPart, _ plugin: some KeyPart) {
    value.removeAll()
    StoreKey.memberCount(plugin: plugin, name: name, worker: batches.worker, into: key)
    guard count != 0 else { return batches.current.writes.delete(key.bytes) }
    value.append(bigEndian: UInt64(bitPattern: count))
    batches.current.writes.put(key.bytes, value.bytes)
  }

  // MARK: Deliveries

  /// Whether the subject has been a member since before a publication to `plugin/name`.
  func isReached(_ subject: ByteView, by publication: Publication) throws(RequestError) -> Bool {
    let topic = publication.topic
    guard let slash = topic.firstIndex(of: UInt8(ascii: "/")) else { return false }
    return try isReached(
      subject, by: publication.number, of: topic.extracting((slash + 1)...), of: topic.extracting(..<slash))
  }

  /// Whether the subject has been a member since before the publication of that number, so that it gets it.
  func isReached(
    _ subject: ByteView, by number: UInt64, of name: some KeyPart, of plugin: some KeyPart
  ) throws(RequestError) -> Bool {
    let member = Self.member(name, plugin, subject)
    for batch in batches.uncommitted {
      for case .leave(let left) in batch.topics where left == member { return false }
    }
    let isMember = try member.withView { (key: ByteView) throws(RequestError) in
      try batches.readCommitted(key, of: subject, into: value)
    }
    return isMember && UInt64(bitPattern: Self.readNumber(value.bytes) ?? -1) < number
  }

  private static func member(_ name: some KeyPart, _ plugin: some KeyPart, _ subject: ByteView) -> [UInt8] {
    StoreKey.bytes { StoreKey.member(plugin: plugin, name: name, subject, into: $0) }
  }

  private func writeKey(_ name: some KeyPart, _ plugin: some KeyPart, _ subject: Subject) {
    StoreKey.named(.membership, subject.name, plugin: plugin, name: name, into: key)
  }
}
