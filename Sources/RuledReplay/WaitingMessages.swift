import RuledEngine

/// The members of a stored message that a replay needs.
struct MessageText {
  /// The key that a recorded message and its counterpart in a world share, whatever their data.
  let key: UInt64
  /// The hashes of the sender and the receiver, whose messages are applied in the order in which they were sent.
  let pair: Pair
  let id: String
  /// The subject whose event sent it.
  let from: String
  /// When it was sent, in microseconds.
  let time: Int64
  /// How many publications may follow from it, if it says so: a share of what the members of a topic had when it reached them.
  let mayPublish: Int64?

  /// The sender and the receiver of a message.
  struct Pair: Hashable {
    let sender: UInt64
    let receiver: UInt64
  }
}

extension [UInt8] {
  func replacing(id: String, with other: String) -> [UInt8] {
    replacing("\"id\":\"\(id)\"", with: "\"id\":\"\(other)\"")
  }

  /// A stored message with another number of publications that may follow.
  func replacing(mayPublish: Int64, with other: Int64) -> [UInt8] {
    replacing("\"may_publish\":\(mayPublish),", with: "\"may_publish\":\(other),")
  }

  private func replacing(_ old: String, with other: String) -> [UInt8] {
    guard let start = firstRange(of: Array(old.utf8)) else { return self }
    return self[..<start.lowerBound] + Array(other.utf8) + self[start.upperBound...]
  }
}

/// The messages of a world that wait until their recorded counterpart is played, and messages of this world alone that wait behind these.
struct WaitingMessages {
  private struct Entry {
    let text: MessageText
    let message: CommitBatch.Message
    let isParked: Bool
    /// How many messages were added before it.
    let position: Int
  }

  /// How many messages had been added when a subject was erased for the last time, and since then its past alone; 0 if it was not.
  private struct Erasure {
    var ofAll = 0
    var ofPast = 0
  }

  private var entries: [UInt64: [Entry]] = [:]
  private var added = 0
  /// The subjects that were erased, by the hash of the name: an erasure is noted once, not with each message that waits.
  private var erasures: [UInt64: Erasure] = [:]
  /// The sequences of the messages that wait for their counterpart, in order, by receiver and sender.
  private var pairs: [UInt64: [UInt64: [UInt64]]] = [:]
  /// The messages of this world alone that wait behind these, in order, likewise.
  private var deferred: [UInt64: [UInt64: [CommitBatch.Message]]] = [:]

  func count(of key: UInt64) -> Int { entries[key]?.count { !isErased($0) } ?? 0 }

  /// Whether a message was erased with its receiver; the record may have it nevertheless.
  private func isErased(_ entry: Entry) -> Bool {
    entry.position < erasures[entry.text.pair.receiver]?.ofAll ?? 0 && !isKept(entry)
  }

  /// Whether a message's text was erased with its receiver's past: it waits nevertheless, and happens as it was recorded.
  private func isKept(_ entry: Entry) -> Bool {
    !entry.isParked && entry.position < erasures[entry.text.pair.receiver]?.ofPast ?? 0
  }

  /// Adds a message; one that is parked must be retried before it can be delivered, and holds none back.
  mutating func add(_ message: CommitBatch.Message, _ text: MessageText, isParked: Bool = false) {
    entries[text.key, default: []].append(Entry(text: text, message: message, isParked: isParked, position: added))
    added += 1
    if !isParked { pairs[text.pair.receiver, default: [:]][text.pair.sender, default: []].append(message.sequence) }
  }

  /// Defers a message of this world alone behind a waiting one that the same sender sent to the same subject before; false if none waits.
  mutating func deferMessage(_ message: CommitBatch.Message, _ text: MessageText) -> Bool {
    guard pairs[text.pair.receiver]?[text.pair.sender] != nil else { return false }
    deferred[text.pair.receiver, default: [:]][text.pair.sender, default: []].append(message)
    return true
  }

  /// Removes the counterpart of a recorded message; nil if there is none.
  ///
  /// It is the message with the same id or else the first with the same key whose id `orAnother` accepts.
  mutating func take(
    _ recorded: MessageText, orAnother: (_ id: String) -> Bool
  ) -> (message: CommitBatch.Message, text: MessageText, isParked: Bool, isKept: Bool)? {
    guard var found = entries[recorded.key],
      let index = found.firstIndex(where: { $0.text.id == recorded.id })
        ?? found.firstIndex(where: { !isErased($0) && orAnother($0.text.id) })
    else { return nil }
    let entry = found.remove(at: index)
    entries[recorded.key] = found.isEmpty ? nil : found
    return (entry.message, entry.text, entry.isParked, isKept(entry))
  }

  /// Removes and returns the messages of this world alone that wait for none any more, now that `message` has been delivered.
  mutating func release(behind message: CommitBatch.Message, _ text: MessageText) -> [CommitBatch.Message] {
    let (sender, receiver) = (text.pair.sender, text.pair.receiver)
    guard let left = pairs[receiver]?[sender]?.filter({ $0 > message.sequence }) else { return [] }
    pairs[receiver]?[sender] = left.isEmpty ? nil : left
    if pairs[receiver]?.isEmpty == true { pairs[receiver] = nil }
    guard let behind = deferred[receiver]?[sender] else { return [] }
    let free = behind.prefix { $0.sequence < left.first ?? .max }
    deferred[receiver]?[sender] = free.count == behind.count ? nil : Array(behind.dropFirst(free.count))
    if deferred[receiver]?.isEmpty == true { deferred[receiver] = nil }
    return Array(free)
  }

  /// Notes that the messages that wait for a subject are erased with it.
  mutating func erase(_ subject: String) {
    let receiver = subject.nameHash
    erasures[receiver] = Erasure(ofAll: added)
    pairs[receiver] = nil
    deferred[receiver] = nil
  }

  /// Notes that only the past of a subject was erased, with the texts of the messages that wait for it.
  mutating func keep(_ subject: String) { erasures[subject.nameHash, default: Erasure()].ofPast = added }

  /// Forgets the messages in the store that wait for their counterpart, and tells which messages still wait behind some of them.
  mutating func removeExpected() -> Set<UInt64> {
    pairs = [:]
    entries = entries.compactMapValues { waiting in
      let kept = waiting.filter(isKept)
      return kept.isEmpty ? nil : kept
    }
    let receivers = Set(entries.values.joined().map(\.text.pair.receiver))
    erasures = erasures.filter { receivers.contains($0.key) }
    return Set(deferred.values.flatMap(\.values).joined().map(\.sequence))
  }
}
