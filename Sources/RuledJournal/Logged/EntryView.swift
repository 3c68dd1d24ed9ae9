import RuledCore
import RuledStore

/// An entry whose parts are views of the log or of a block.
struct EntryView {
  typealias Bytes = ByteView

  var sequence: UInt64 = 0
  var origin: JournalEntry.Origin
  /// Which parts it has.
  var flags: EntryHead.Flags
  /// When it was evaluated, in microseconds.
  var at: Int64
  /// `now()`, in microseconds.
  var now: Int64
  var version: UInt64 = 0
  var subject = Bytes.empty
  /// The event's text as it was sent or stored.
  var text: Bytes
  /// The event's id, if the text lacks it.
  var id = Bytes.empty
  var revision = Bytes.empty
  /// Decisions, effects and failures, each with its length as varint before it, as in the log; empty if there are none.
  var results = Bytes.empty
  /// The plugins that took part and did not fail, each in quotes, with commas between; nil if an earlier build wrote the entry.
  var plugins: Bytes?
  /// The plugin of a timer or a retry.
  var plugin = Bytes.empty
  var timer = Bytes.empty
  /// The digest of the event's consequences.
  var consequences: UInt32 = 0
  /// The plugins' states after the event.
  var states = States.digests(.empty)
  /// The redacted paths, separated by zero bytes.
  var redacted = Bytes.empty

  enum States {
    case record(Bytes)
    /// For each plugin its name, with its length as varint before it, and the digest of its state, as in a block.
    case digests(Bytes)
  }

  /// The parts of `results`: the decisions as the members of an object, effects and failures as the elements of arrays.
  var parts: (decisions: Bytes, effects: Bytes, failures: Bytes) {
    var reader = BlockReader(results)
    let decisions = reader.string() ?? .empty
    let effects = reader.string() ?? .empty
    return (decisions, effects, reader.string() ?? .empty)
  }

  /// Appends each plugin's name and digest of its state.
  func writeDigests(into buffer: ByteBuffer) {
    switch states {
    case .digests(let bytes): buffer.append(bytes)
    case .record(let bytes):
      guard let record = try? SubjectRecordView(beginningOf: bytes) else { return }
      var reader = BlockReader(record.plugins)
      while let name = reader.string(), let state = reader.string() {
        EntryHead.write(name, into: buffer)
        buffer.append(bigEndian: hash64(state, seed: 0))
      }
    }
  }

  /// A copy that does not depend on the log or the block.
  var entry: JournalEntry {
    let buffer = ByteBuffer(capacity: 64)
    writeDigests(into: buffer)
    var digests: [JournalEntry.Digest] = []
    var reader = BlockReader(buffer.bytes)
    while !reader.isAtEnd, let plugin = reader.string(), let state = reader.word() {
      digests.append(.init(plugin: plugin.text, state: state))
    }
    withExtendedLifetime(buffer) {}
    let (parts, isKept) = (parts, origin == .message && KeptEvent.isOne(text))
    return JournalEntry(
      sequence: sequence, at: Timestamp(microseconds: at), now: Timestamp(microseconds: now), subject: subject.text,
      version: version, revision: revision.text, origin: isKept ? .kept : origin, event: wholeEvent,
      plugin: plugin.text, timer: timer.text, decisions: Array(parts.decisions), effects: Array(parts.effects),
      failures: Array(parts.failures), digests: digests, consequences: consequences,
      redacted: redacted.split(separator: 0).map(\.text))
  }

  /// The event with its id.
  private var wholeEvent: [UInt8] {
    if origin == .forget { return forgetEvent }
    guard flags.contains(.lacksID), text.first == UInt8(ascii: "{") else { return Array(text) }
    let buffer = ByteBuffer(capacity: text.count + 64)
    buffer.append("{\"id\":")
    buffer.append(jsonString: id)
    buffer.append(UInt8(ascii: ","))
    buffer.append(text.extracting(droppingFirst: 1))
    return Array(buffer.bytes)
  }

  private var forgetEvent: [UInt8] {
    let buffer = ByteBuffer(capacity: 64 + subject.count)
    buffer.append("{\"type\":\"ruled.forgotten\",\"subject\":")
    buffer.append(jsonString: subject)
    buffer.append(UInt8(ascii: "}"))
    return Array(buffer.bytes)
  }
}
