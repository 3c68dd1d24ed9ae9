package import RuledCore
package import RuledStore

/// The head of an entry as the log has it, before a segment is flushed.
///
/// It has the parts that are neither in the event nor in the outcome and the subject's record, which the same commit writes.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | the origin in three bits, and flags |
/// | 8 | when the event was evaluated, in microseconds since 1970, big-endian |
/// | 8 | `now()`, likewise, if the flag says that it differs |
/// | 4 | the digest of the event's consequences, if the flag says that there are any |
/// | … | unless a client sent it: the version as varint; revision, decisions, effects and failures, each after its length as varint |
/// | … | unless a client sent it: the plugin of the timer or the retry and the name of the timer, likewise, empty without them |
/// | … | unless an earlier build wrote it: the plugins that took part, each in quotes, with commas between, likewise |
package struct EntryHead {
  struct Flags: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The text has no id: the daemon gave it one.
    static let lacksID = Flags(rawValue: 1 << 3)
    /// Messages or timers follow from the event.
    static let hasConsequences = Flags(rawValue: 1 << 4)
    /// `now()` differs from the time of the evaluation.
    static let hasNow = Flags(rawValue: 1 << 5)
    /// It has no sequence of its own: the event changed nothing that watchers see.
    static let isSilent = Flags(rawValue: 1 << 6)
  }

  let origin: JournalEntry.Origin
  let flags: Flags
  /// When the event was evaluated, in microseconds.
  let at: Int64
  /// `now()`, in microseconds.
  let now: Int64
  /// The digest of the event's consequences; 0 if there are none.
  let consequences: UInt32
  let rest: ByteView

  /// Appends the head of an entry.
  ///
  /// `lacksID` says that the daemon gave the event its id, `isSilent` that the event changes nothing that watchers see.
  package static func write(
    _ origin: JournalEntry.Origin, lacksID: Bool = false, isSilent: Bool = false, at: Int64, now: Int64,
    consequences: UInt32 = 0, into head: ByteBuffer
  ) {
    var all: Flags = lacksID ? .lacksID : []
    if isSilent { all.insert(.isSilent) }
    if now != at { all.insert(.hasNow) }
    if consequences != 0 { all.insert(.hasConsequences) }
    head.append(origin.number | all.rawValue)
    head.append(bigEndian: UInt64(bitPattern: at))
    if now != at { head.append(bigEndian: UInt64(bitPattern: now)) }
    if consequences != 0 { head.append(bigEndian: consequences) }
  }

  /// Appends the outcome of an event that no client sent.
  package static func write(_ outcome: RememberedOutcome, into head: ByteBuffer) {
    head.append(varint: outcome.version)
    for part in [outcome.revision, outcome.decisions, outcome.effects, outcome.failures] { write(part, into: head) }
  }

  package static func write(_ part: ByteView, into head: ByteBuffer) {
    head.append(small: UInt64(part.count))
    head.append(part)
  }

  /// Whether an entry with that head has no sequence.
  static func isSilent(_ head: ByteView) -> Bool { (head.first ?? 0) & Flags.isSilent.rawValue != 0 }

  init?(_ head: ByteView) {
    guard let first = head.first, let origin = JournalEntry.Origin(number: first & 7) else { return nil }
    self.origin = origin
    flags = Flags(rawValue: first & ~7)
    let fixed = 9 + (flags.contains(.hasNow) ? 8 : 0) + (flags.contains(.hasConsequences) ? 4 : 0)
    guard head.count >= fixed else { return nil }
    func time(_ offset: Int) -> Int64 {
      Int64(bitPattern: UInt64(bigEndian: head.load(at: offset, as: UInt64.self)))
    }
    at = time(1)
    now = flags.contains(.hasNow) ? time(9) : at
    consequences =
      flags.contains(.hasConsequences)
      ? UInt32(bigEndian: head.load(at: fixed - 4, as: UInt32.self)) : 0
    rest = head.extracting(fixed...)
  }
}

extension JournalEntry.Origin {
  /// Its number in heads and files.
  var number: UInt8 {
    switch self {
    case .client: 0
    case .message, .kept: 1  // earlier builds take it for a message without a sender
    case .timer: 2
    case .retry: 3
    case .forget: 4
    case .rules: 5
    }
  }

  private static let numbered: [Self] = [.client, .message, .timer, .retry, .forget, .rules]

  init?(number: UInt8) {
    guard number < Self.numbered.count else { return nil }
    self = Self.numbered[Int(number)]
  }
}
