package import RuledCore
package import RuledJournal
import RuledStore

/// The messages and timers in a recorded range, so that a world knows which of its own have a recorded counterpart.
///
/// It takes 8 bytes for each message and timer of the range, 16 more for each message whose sender's event is not in the range, and 24 for each
/// subject that was erased. While the range is read, it takes 24 more for each event that sent messages or set timers.
package struct RecordedHistory: Sendable {
  /// Whether a subject's events are played; messages that other subjects sent are replayed as recorded.
  var isPlayed: @Sendable (_ subject: String) -> Bool = { _ in true }
  /// The keys of the messages that were applied and the timers that fired, in order; each as often as it happened.
  private var keys: [UInt64] = []
  /// The last erasure of each subject that was erased, by the hash of the name.
  private var erasures: [UInt64: Erasure] = [:]
  /// The sequences of messages whose sending events are not in the range: an erasure may have left neither these nor the subject's name.
  private var absent: Set<UInt64> = []
  /// The sequences of messages that were sent before their receiver's past was erased, and applied after that.
  private var outlasting: Set<UInt64> = []
  /// The ids of messages of subjects that were erased before, or at a time that their sender may have had twice.
  private var reserved: Set<UInt64> = []
  /// Whether a subject's events from before its erasure may be among the entries, as a shadow has seen them.
  private let hasErased: Bool
  /// The lanes of the subjects that its messages join.
  private(set) var lanes = SubjectLanes()

  /// Whether the event that sent a message is played.
  enum Sender {
    /// It is played, or will not be.
    case known
    /// It is one that is played, or one that was erased, or the past of its receiver was: a world may not have the message.
    case unsure
    /// It is not played, and its message happens as it was recorded.
    case absent
  }

  private struct Erasure {
    /// When it was, in microseconds.
    let at: Int64
    let sequence: UInt64
    /// Whether it was the past alone, and the messages that waited stayed.
    let isOfPast: Bool
  }

  /// A history in which no message was applied and no timer fired.
  init() { hasErased = false }

  /// The history of a range of a journal; `shouldContinue` is asked after each entry.
  init(
    _ source: any JournalSource, in range: JournalRange,
    isPlayed: @escaping @Sendable (_ subject: String) -> Bool, shouldContinue: (JournalEntry) -> Bool
  ) throws(StoreError) {
    self.isPlayed = isPlayed
    hasErased = false
    let reader = EntryReader()
    var senders: [UInt64: UInt64] = [:]
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

  /// The history of entries, in which a subject has none from before its last erasure.
  ///
  /// With `earlier` ones, it is that of entries that follow these, as they were before subjects were erased: the world has played the earlier ones, whose
  /// events may have sent some of the messages, and others before them.
  package init(_ entries: some Sequence<JournalEntry>, after earlier: [JournalEntry]? = nil) {
    hasErased = earlier != nil
    let reader = EntryReader()
    var senders: [UInt64: UInt64] = [:]
    for entry in earlier ?? [] { _ = add(entry, reader, &senders) }
    keys.removeAll()
    for entry in entries { _ = add(entry, reader, &senders) }
    keys.sort()
  }

  /// Adds an entry; returns the sender if it is a message.
  ///
  /// `senders` are the moments of the events before it that sent messages or set timers, each with the sequence of its first event.
  private mutating func add(
    _ entry: JournalEntry, _ reader: EntryReader, _ senders: inout [UInt64: UInt64]
  ) -> String? {
    if entry.consequences != 0 {
      let moment = Self.moment(of: entry.subject, entry.now.microseconds)
      if senders[moment] == nil { senders[moment] = entry.sequence }
    }
    switch entry.origin {
    case .message:
      guard let message = reader.message(entry.event) else { return nil }
      keys.append(message.key)
      if let sent = senders[Self.moment(of: message.from, message.time)] {
        let erasure = erasures[entry.subject.nameHash]
        if let erasure, erasure.isOfPast, sent < erasure.sequence { outlasting.insert(entry.sequence) }
      } else {
        absent.insert(entry.sequence)
      }
      if erasures[message.from.nameHash].map({ message.time <= $0.at }) ?? false {
        reserved.insert(message.id.nameHash)
      }
      return message.from
    case .timer:
      guard let due = reader.due(entry.event) else { return nil }
      let (name, plugin, subject) = (Array(entry.timer.utf8), Array(entry.plugin.utf8), Array(entry.subject.utf8))
      keys.append(Self.key(ofTimer: name, of: plugin, subject: subject, due: due))
    case .forget, .kept:
      erasures[entry.subject.nameHash] = Erasure(
        at: entry.at.microseconds, sequence: entry.sequence, isOfPast: entry.origin == .kept)
    case .client, .retry, .rules: break
    }
    return nil
  }

  /// How often the message or timer with that key happened.
  func count(of key: UInt64) -> Int {
    keys.partitioningIndex { $0 > key } - keys.partitioningIndex { $0 >= key }
  }

  func sender(of message: MessageText, at sequence: UInt64) -> Sender {
    guard isPlayed(message.from) else { return .absent }
    if outlasting.contains(sequence) { return .unsure }
    let isAbsent = absent.contains(sequence)
    let isErased = erasures[message.from.nameHash].map { message.time <= $0.at } ?? false
    if hasErased { return isAbsent && isErased ? .unsure : .known }
    return isAbsent ? .absent : isErased ? .unsure : .known
  }

  /// Whether a recorded message with that id may be the very one, so that no other takes its counterpart.
  func isReserved(_ id: String) -> Bool { !reserved.isEmpty && reserved.contains(id.nameHash) }

  /// Whether the subject is erased after a sequence, and has no entries from before.
  func isMissing(_ subject: String, after sequence: UInt64) -> Bool {
    !hasErased && !erasures.isEmpty && erasures[subject.nameHash].map { $0.sequence > sequence } ?? false
  }

  func isErased(_ subject: String) -> Bool {
    !erasures.isEmpty && erasures[subject.nameHash] != nil
  }

  // MARK: Keys

  /// The key of a subject's event at that time, in microseconds; a message states it in whole milliseconds.
  private static func moment(of subject: String, _ time: Int64) -> UInt64 {
    Array(subject.utf8).hash64(seed: UInt64(bitPattern: time / 1_000))
  }

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
