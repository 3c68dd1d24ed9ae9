import RuledCore

/// The layout of entries within a block: each in terms of the one before it, so that what repeats compresses to nothing.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | origin and flags, as in `JournalRecord`; the highest bit says that there are paths of redacted values |
/// | varint | how much higher the sequence is |
/// | signed varint | how much later it was evaluated; if the flag says so, how much `now()` differs |
/// | varint | the subject's version |
/// | 4 | the digest of the consequences, if the flag says that there are any |
/// | strings | event, subject, id, revision, decisions, effects, failures, digests; for a timer or retry plugin and name; redacted paths |
///
/// Digests are for each plugin its name as string and eight bytes. A string has its length as varint before it.
struct EntryCodec {
  private var sequence: UInt64 = 0
  private var at: Int64 = 0
  private static let hasRedacted: UInt8 = 1 << 7
  private let digests = ByteBuffer(capacity: 128)

  /// Appends an entry.
  mutating func write(_ view: EntryView, into buffer: ByteBuffer) {
    var flags: JournalRecord.Flags = view.flags.contains(.lacksID) ? .lacksID : []
    if view.now != view.at { flags.insert(.hasNow) }
    if view.consequences != 0 { flags.insert(.hasConsequences) }
    buffer.append(view.origin.number | flags.rawValue | (view.redacted.isEmpty ? 0 : Self.hasRedacted))
    buffer.append(varint: view.sequence - sequence)
    buffer.append(signed: view.at &- at)
    if view.now != view.at { buffer.append(signed: view.now &- view.at) }
    sequence = view.sequence
    at = view.at
    buffer.append(varint: view.version)
    if view.consequences != 0 { buffer.append(bigEndian: view.consequences) }
    JournalRecord.write(view.text, into: buffer)
    JournalRecord.write(view.subject, into: buffer)
    JournalRecord.write(view.flags.contains(.lacksID) ? view.id : EntryView.none, into: buffer)
    JournalRecord.write(view.revision, into: buffer)
    JournalRecord.write(view.decisions, into: buffer)
    JournalRecord.write(view.effects, into: buffer)
    JournalRecord.write(view.failures, into: buffer)
    digests.removeAll()
    view.writeDigests(into: digests)
    JournalRecord.write(digests.bytes, into: buffer)
    if view.origin == .retry || view.origin == .timer {
      JournalRecord.write(view.plugin, into: buffer)
      JournalRecord.write(view.timer, into: buffer)
    }
    if !view.redacted.isEmpty { JournalRecord.write(view.redacted, into: buffer) }
  }

  /// Reads the next entry; nil at the end, or where the bytes are none.
  mutating func read(_ reader: inout BlockReader) -> EntryView? {
    guard let first = reader.byte(), let origin = JournalEntry.Origin(number: first & 7), let step = reader.varint(),
      let later = reader.signed()
    else { return nil }
    let flags = JournalRecord.Flags(rawValue: first & ~7 & ~Self.hasRedacted)
    sequence &+= step
    at &+= later
    var now = at
    if flags.contains(.hasNow) {
      guard let differs = reader.signed() else { return nil }
      now &+= differs
    }
    guard let version = reader.varint(),
      let consequences = flags.contains(.hasConsequences) ? reader.word32() : 0, let text = reader.string(),
      let subject = reader.string(),
      let id = reader.string(), let revision = reader.string(), let decisions = reader.string(),
      let effects = reader.string(), let failures = reader.string(), let digests = reader.string()
    else { return nil }
    var view = EntryView(origin, flags, at: at, now: now, text: text)
    view.sequence = sequence
    view.version = version
    view.consequences = consequences
    view.subject = subject
    view.id = id
    view.revision = revision
    view.decisions = decisions
    view.effects = effects
    view.failures = failures
    view.states = .digests(digests)
    if origin == .retry || origin == .timer {
      guard let plugin = reader.string(), let timer = reader.string() else { return nil }
      view.plugin = plugin
      view.timer = timer
    }
    if first & Self.hasRedacted != 0 {
      guard let redacted = reader.string() else { return nil }
      view.redacted = redacted
    }
    return view
  }
}
