import RuledCore
import RuledEngine
import RuledJSON

/// A stored message's text, as far as a replay needs to know it.
struct MessageText {
  /// The key by which a recorded message and one of a world are the same, whatever they say.
  let key: UInt64
  /// Its id.
  let id: String
  /// The subject whose event sent it.
  let from: String
  /// When it was sent, in microseconds.
  let time: Int64
}

/// Reads the texts of journal entries.
final class EntryReader {
  private let document = TapeDocument()

  /// What a stored message says; nil when it is none.
  func message(_ text: [UInt8]) -> MessageText? {
    guard let object = parse(text), let from = object.member("from")?.text else { return nil }
    return message(object, from: from)
  }

  /// What a parked message says; nil when the parked part is none.
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
    return MessageText(key: key, id: id, from: from, time: Timestamp(rfc3339: time)?.microseconds ?? 0)
  }

  /// When a stored timer is due, in microseconds; nil when it is none.
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

/// The messages of a world that have a recorded counterpart, until that is played.
struct WaitingMessages {
  private struct Entry {
    let id: String
    let message: CommitBatch.Message
    let isParked: Bool
  }

  private var entries: [UInt64: [Entry]] = [:]

  /// How many messages with that key wait.
  func count(of key: UInt64) -> Int { entries[key]?.count ?? 0 }

  /// Adds a message; one that is parked must be retried before it can be delivered.
  mutating func add(_ message: CommitBatch.Message, _ text: MessageText, isParked: Bool = false) {
    entries[text.key, default: []].append(Entry(id: text.id, message: message, isParked: isParked))
  }

  /// Removes the message that a recorded one stands for; nil when there is none.
  ///
  /// It is the one with the same id, or else, with `orAnother`, the first with the same key.
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
}

/// The timers that only a world has, by when they are due.
///
/// Those that are due at once have an order of their own, that of their keys in the store, whatever other timers there are.
struct OwnTimers {
  private var heap: [DueTimer] = []

  /// Adds a timer; one that is added twice is found twice.
  mutating func add(_ timer: DueTimer) {
    heap.append(timer)
    var child = heap.count - 1
    while child > 0, Self.isBefore(heap[child], heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Removes the timer that is due first, if that is not after `time`, in microseconds.
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
