package import RuledCore
import RuledJSON
package import RuledJournal
package import RuledStore

/// The messages and timers in a recorded range, so that a world knows which of its own have a recorded counterpart.
///
/// It takes 8 bytes for each message and timer of the range, and 16 for each subject that was erased and each moment at which an event sent
/// messages that is not in the range. While the range is read, it takes 16 more for each event that sent messages or set timers.
package struct RecordedHistory: Sendable {
  /// Whether a subject's events are played; messages that other subjects sent are replayed as recorded.
  package var isPlayed: @Sendable (_ subject: String) -> Bool = { _ in true }
  /// The keys of the messages that were applied and the timers that fired, in order; each as often as it happened.
  private var keys: [UInt64] = []
  /// When subjects were last erased, in microseconds, by the hash of the name.
  private var erasures: [UInt64: Int64] = [:]
  /// When events that are not in the range sent messages that are in it: an erasure may have left neither them nor the subject's name.
  private var absent: Set<UInt64> = []
  /// The lanes of the subjects that its messages join.
  private(set) var lanes = SubjectLanes()

  /// A history in which no message was applied and no timer fired.
  package init() {}

  /// The history of a range of a journal.
  ///
  /// - Parameters:
  ///   - source: the journal.
  ///   - range: the range.
  ///   - isPlayed: whether a subject's events are played.
  ///   - shouldContinue: called for each entry; false ends the reading.
  /// - Throws: when the journal can't be read.
  package init(
    _ source: any JournalSource, in range: JournalRange,
    isPlayed: @escaping @Sendable (_ subject: String) -> Bool, shouldContinue: (JournalEntry) -> Bool
  ) throws(StoreError) {
    self.isPlayed = isPlayed
    let reader = EntryReader()
    var senders: Set<UInt64> = []
    var builder = SubjectLanes.Builder()
    try source.forEach(in: range) { entry in
      if entry.origin != .rules, isPlayed(entry.subject) { builder.note(entry.subject) }
      if let sender = add(entry, reader, &senders), isPlayed(sender), isPlayed(entry.subject) {
        builder.join(sender, entry.subject)
      }
      return shouldContinue(entry)
    }
    keys.sort()
    lanes = builder.lanes()
  }

  /// The history of entries.
  ///
  /// With `continuing` they follow others that the world has played too, whose events may have sent some of their messages.
  package init(_ entries: some Sequence<JournalEntry>, continuing: Bool = false) {
    let reader = EntryReader()
    var senders: Set<UInt64> = []
    for entry in entries { _ = add(entry, reader, &senders) }
    keys.sort()
    if continuing { absent = [] }
  }

  /// Adds an entry; returns the sender if it is a message.
  ///
  /// `senders` are the moments of the events before it that sent messages or set timers.
  private mutating func add(_ entry: JournalEntry, _ reader: EntryReader, _ senders: inout Set<UInt64>) -> String? {
    if entry.consequences != 0 { senders.insert(Self.moment(of: entry.subject, entry.now.microseconds)) }
    switch entry.origin {
    case .message:
      guard let message = reader.message(entry.event) else { return nil }
      keys.append(message.key)
      let sent = Self.moment(of: message.from, message.time)
      if !senders.contains(sent) { absent.insert(sent) }
      return message.from
    case .timer: if let due = reader.due(entry.event) { keys.append(Self.key(of: entry, due: due)) }
    case .forget: erasures[entry.subject.nameHash] = entry.at.microseconds
    case .client, .retry, .rules: break
    }
    return nil
  }

  /// How often the message or timer with that key happened.
  func count(of key: UInt64) -> Int {
    var index = keys.lowerBound(key)
    let first = index
    while index < keys.count, keys[index] == key { index += 1 }
    return index - first
  }

  /// Whether the event is played with which the subject sent something at that time, in microseconds.
  func hasSender(_ subject: String, at time: Int64) -> Bool {
    guard isPlayed(subject), absent.isEmpty || !absent.contains(Self.moment(of: subject, time)) else { return false }
    return erasures.isEmpty || erasures[subject.nameHash].map { time > $0 } ?? true
  }

  /// Whether the range erases the subject.
  func isErased(_ subject: String) -> Bool {
    !erasures.isEmpty && erasures[subject.nameHash] != nil
  }

  // MARK: Keys

  /// The key of a subject's event at that time, in microseconds; a message states it in whole milliseconds.
  private static func moment(of subject: String, _ time: Int64) -> UInt64 {
    Array(subject.utf8).hash64(seed: UInt64(bitPattern: time / 1_000))
  }

  /// The key of a timer that fired.
  static func key(of entry: JournalEntry, due: Int64) -> UInt64 {
    key(ofTimer: Array(entry.timer.utf8), of: Array(entry.plugin.utf8), subject: Array(entry.subject.utf8), due: due)
  }

  /// The key of a timer.
  static func key(ofTimer name: [UInt8], of plugin: [UInt8], subject: [UInt8], due: Int64) -> UInt64 {
    name.hash64(seed: plugin.hash64(seed: subject.hash64(seed: UInt64(bitPattern: due))))
  }

  /// The key of a message; it does not depend on the message's data.
  static func key(ofMessageTo target: String, from: String, type: String, time: String) -> UInt64 {
    [target, from, type, time].reduce(0) { Array($1.utf8).hash64(seed: $0) }
  }
}

extension Failure {
  /// Whether it depends on the machine or on other subjects, so that the same rules may not fail again on the same event.
  package var isOfMachine: Bool {
    kind == .time || kind == .memory || message.hasPrefix("the plugin is suspended")
      || message.hasPrefix("the plugin is put off")
      || message.hasPrefix("there is no room for another counter") || message.hasPrefix("a counter would overflow")
  }
}

extension [UInt8] {
  /// The hash of the bytes, the same in every process.
  func hash64(seed: UInt64) -> UInt64 { withView { RuledCore.hash64($0, seed: seed) } }
}

extension String {
  /// The hash of a subject's name, the same in every process.
  var nameHash: UInt64 { withView { RuledCore.hash64($0, seed: 0) } }
}

extension [UInt64] {
  /// The index of the first element of a sorted array that is not below `value`.
  fileprivate func lowerBound(_ value: UInt64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
