import RuledCore
import RuledEngine
import RuledJSON

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

  /// Who sends a message to whom.
  struct Pair: Hashable {
    let sender: UInt64
    let receiver: UInt64
  }
}

/// Reads the events in journal entries.
final class EntryReader {
  private let document = TapeDocument()

  /// A stored message; nil if the text is none.
  func message(_ text: [UInt8]) -> MessageText? {
    guard let object = parse(text), let from = object.member("from")?.text else { return nil }
    return message(object, from: from)
  }

  /// The message in a parked part; nil if there is none.
  func parkedMessage(_ text: [UInt8]) -> MessageText? {
    guard let object = parse(text), let from = object.member("message_from")?.text,
      let event = object.member("events")?.children.first
    else { return nil }
    return message(event, from: from)
  }

  private func message(_ object: TapeValue, from: String) -> MessageText? {
    guard let id = object.member("id")?.text, let target = object.member("subject")?.text,
      let type = object.member("type")?.text, let time = object.member("time")?.text
    else { return nil }
    let key = RecordedHistory.key(ofMessageTo: target, from: from, type: type, time: time)
    let pair = MessageText.Pair(sender: from.nameHash, receiver: target.nameHash)
    return MessageText(key: key, pair: pair, id: id, from: from, time: Timestamp(rfc3339: time)?.microseconds ?? 0)
  }

  /// When a stored timer is due, in microseconds; nil if the text is no timer.
  func due(_ text: [UInt8]) -> Int64? { parse(text)?.member("due")?.integer }

  /// The id of an event.
  func id(_ text: [UInt8]) -> String { parse(text)?.member("id")?.text ?? "" }

  private func parse(_ text: [UInt8]) -> TapeValue? {
    text.withView { try? document.parse(copyOf: $0) }
  }
}

extension [UInt8] {
  /// A stored message with another id.
  func replacing(id: String, with other: String) -> [UInt8] {
    let old = Array("\"id\":\"\(id)\"".utf8)
    guard let start = firstRange(of: old) else { return self }
    return self[..<start.lowerBound] + Array("\"id\":\"\(other)\"".utf8) + self[start.upperBound...]
  }
}

/// The messages of a world that wait until their recorded counterpart is played, and those that only this world has and that wait behind these.
struct WaitingMessages {
  private struct Entry {
    let id: String
    let message: CommitBatch.Message
    let isParked: Bool
  }

  private var entries: [UInt64: [Entry]] = [:]
  /// The sequences of the messages that wait for their counterpart, in order, by sender and receiver.
  private var pairs: [MessageText.Pair: [UInt64]] = [:]
  /// The messages that only this world has and that wait behind these, in order, likewise.
  private var held: [MessageText.Pair: [CommitBatch.Message]] = [:]

  /// How many messages with that key wait.
  func count(of key: UInt64) -> Int { entries[key]?.count ?? 0 }

  /// Adds a message; one that is parked must be retried before it can be delivered, and holds none back.
  mutating func add(_ message: CommitBatch.Message, _ text: MessageText, isParked: Bool = false) {
    entries[text.key, default: []].append(Entry(id: text.id, message: message, isParked: isParked))
    if !isParked { pairs[text.pair, default: []].append(message.sequence) }
  }

  /// Holds a message that only this world has if one waits that was sent before it by the same sender to the same subject; false if none does.
  mutating func hold(_ message: CommitBatch.Message, _ text: MessageText) -> Bool {
    guard pairs[text.pair] != nil else { return false }
    held[text.pair, default: []].append(message)
    return true
  }

  /// Removes the counterpart of a recorded message; nil if there is none.
  ///
  /// It is the message with the same id or else, with `orAnother`, the first with the same key.
  mutating func take(
    _ recorded: MessageText, orAnother: Bool
  ) -> (message: CommitBatch.Message, id: String, isParked: Bool)? {
    guard var found = entries[recorded.key],
      let index = found.firstIndex(where: { $0.id == recorded.id }) ?? (orAnother ? found.indices.first : nil)
    else { return nil }
    let entry = found.remove(at: index)
    entries[recorded.key] = found.isEmpty ? nil : found
    return (entry.message, entry.id, entry.isParked)
  }

  /// Removes and returns the messages that only this world has and that wait for none any more, now that `message` has been delivered.
  mutating func release(behind message: CommitBatch.Message, _ text: MessageText) -> [CommitBatch.Message] {
    guard let left = pairs[text.pair]?.filter({ $0 > message.sequence }) else { return [] }
    pairs[text.pair] = left.isEmpty ? nil : left
    guard let behind = held[text.pair] else { return [] }
    let free = behind.prefix { $0.sequence < left.first ?? .max }
    held[text.pair] = free.count == behind.count ? nil : Array(behind.dropFirst(free.count))
    return Array(free)
  }

  /// Removes what waits for a subject that is erased, but for the counterparts of recorded messages, which then are not delivered.
  mutating func erase(_ subject: String) {
    let receiver = subject.nameHash
    pairs = pairs.filter { $0.key.receiver != receiver }
    held = held.filter { $0.key.receiver != receiver }
  }

  /// Forgets the messages that wait for their counterpart, and tells which messages still wait behind some of them.
  mutating func removeExpected() -> Set<UInt64> {
    (entries, pairs) = ([:], [:])
    return Set(held.values.joined().map(\.sequence))
  }
}

/// A queue of the timers that only a world has, ordered by when they are due.
///
/// Timers that are due at the same time are in the order of their keys in the store.
struct OwnTimers {
  private var heap: [DueTimer] = []

  /// Adds a timer; one that is added twice is in the queue twice.
  mutating func add(_ timer: DueTimer) {
    heap.append(timer)
    var child = heap.count - 1
    while child > 0, Self.isBefore(heap[child], heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Removes and returns the timer that is due first; nil if it is due after `time`, in microseconds.
  mutating func takeFirst(dueBy time: Int64) -> DueTimer? {
    guard let first = heap.first, first.due <= time else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var parent = 0
    while true {
      let left = 2 * parent + 1
      guard left < heap.count else { return first }
      let child = left + 1 < heap.count && Self.isBefore(heap[left + 1], heap[left]) ? left + 1 : left
      guard Self.isBefore(heap[child], heap[parent]) else { return first }
      heap.swapAt(child, parent)
      parent = child
    }
  }

  private static func isBefore(_ left: DueTimer, _ right: DueTimer) -> Bool {
    if left.due != right.due { return left.due < right.due }
    for part in [\DueTimer.subject, \DueTimer.plugin, \DueTimer.name] where left[keyPath: part] != right[keyPath: part]
    {
      return left[keyPath: part].lexicographicallyPrecedes(right[keyPath: part])
    }
    return false
  }
}
