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
    /// Whether it was erased with its receiver; the record may have it nevertheless.
    var isErased = false
    /// Whether its text was erased with its receiver's past: it waits nevertheless, and happens as it was recorded.
    var isKept = false
  }

  private var entries: [UInt64: [Entry]] = [:]
  /// The sequences of the messages that wait for their counterpart, in order, by sender and receiver.
  private var pairs: [MessageText.Pair: [UInt64]] = [:]
  /// The messages of this world alone that wait behind these, in order, likewise.
  private var deferred: [MessageText.Pair: [CommitBatch.Message]] = [:]

  func count(of key: UInt64) -> Int { entries[key]?.count { !$0.isErased } ?? 0 }

  /// Adds a message; one that is parked must be retried before it can be delivered, and holds none back.
  mutating func add(_ message: CommitBatch.Message, _ text: MessageText, isParked: Bool = false) {
    entries[text.key, default: []].append(Entry(text: text, message: message, isParked: isParked))
    if !isParked { pairs[text.pair, default: []].append(message.sequence) }
  }

  /// Defers a message of this world alone behind a waiting one that the same sender sent to the same subject before; false if none waits.
  mutating func deferMessage(_ message: CommitBatch.Message, _ text: MessageText) -> Bool {
    guard pairs[text.pair] != nil else { return false }
    deferred[text.pair, default: []].append(message)
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
        ?? found.firstIndex(where: { !$0.isErased && orAnother($0.text.id) })
    else { return nil }
    let entry = found.remove(at: index)
    entries[recorded.key] = found.isEmpty ? nil : found
    return (entry.message, entry.text, entry.isParked, entry.isKept)
  }

  /// Removes and returns the messages of this world alone that wait for none any more, now that `message` has been delivered.
  mutating func release(behind message: CommitBatch.Message, _ text: MessageText) -> [CommitBatch.Message] {
    guard let left = pairs[text.pair]?.filter({ $0 > message.sequence }) else { return [] }
    pairs[text.pair] = left.isEmpty ? nil : left
    guard let behind = deferred[text.pair] else { return [] }
    let free = behind.prefix { $0.sequence < left.first ?? .max }
    deferred[text.pair] = free.count == behind.count ? nil : Array(behind.dropFirst(free.count))
    return Array(free)
  }

  /// Notes that the messages that wait for a subject are erased with it.
  mutating func erase(_ subject: String) {
    let receiver = subject.nameHash
    mark(subject) { ($0.isErased, $0.isKept) = (true, false) }
    pairs = pairs.filter { $0.key.receiver != receiver }
    deferred = deferred.filter { $0.key.receiver != receiver }
  }

  /// Notes that only the past of a subject was erased, with the texts of the messages that wait for it.
  mutating func keep(_ subject: String) {
    mark(subject) { if !$0.isParked { ($0.isErased, $0.isKept) = (false, true) } }
  }

  private mutating func mark(_ receiver: String, _ change: (inout Entry) -> Void) {
    let name = Array(receiver.utf8)
    for (key, waiting) in entries where waiting.first?.message.subject == name {
      entries[key] = waiting.map { entry in
        var entry = entry
        change(&entry)
        return entry
      }
    }
  }

  /// Forgets the messages in the store that wait for their counterpart, and tells which messages still wait behind some of them.
  mutating func removeExpected() -> Set<UInt64> {
    pairs = [:]
    entries = entries.compactMapValues { waiting in
      let kept = waiting.filter(\.isKept)
      return kept.isEmpty ? nil : kept
    }
    return Set(deferred.values.joined().map(\.sequence))
  }
}
