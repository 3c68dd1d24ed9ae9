import RuledCore

/// The layout of entries within a block: each is written as its difference from the one before, as most resemble it.
///
/// That leaves less for the compression to do.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | origin and flags, as in `EntryHead`; bit 6: the revision is the same as in the entry before; bit 7: there are redacted paths |
/// | varint | the sequence, as the difference from the entry before |
/// | signed varint | the time of the evaluation, likewise; if the flag says so, the difference of `now()` from it |
/// | varint | the subject's version |
/// | 4 | the digest of the consequences, if the flag says that there are any |
/// | repeated part | the event |
/// | varint | the offset of the subject in the event, plus 1, and its length; 0 if the event lacks it, and the subject as string |
/// | strings | the id, if the event lacks it; the revision, unless it is the same as in the entry before |
/// | repeated parts | decisions, effects, failures and, unless an earlier build wrote it, plugins, each a string; digests |
/// | strings | for a timer or retry plugin and name; redacted paths |
///
/// Digests are, for each plugin, its name as string and eight bytes. A string has its length as varint before it. `RepeatedPart` has the
/// layout of a repeated part.
struct EntryCodec {
  private var sequence: UInt64 = 0
  private var at: Int64 = 0
  private var text = RepeatedPart()
  private var results = RepeatedPart()
  private var digests = RepeatedPart()
  /// The revision of the entry before.
  private let revision = ByteBuffer(capacity: 32)
  /// The offset of the subject in the last event that had it.
  private var subjectOffset = 0
  /// A part of the entry in progress.
  private let room = ByteBuffer(capacity: 128)

  private static let hasSameRevision: UInt8 = 1 << 6
  private static let hasRedacted: UInt8 = 1 << 7

  // MARK: Writing

  mutating func write(_ view: EntryView, into buffer: ByteBuffer) {
    let isSame = ByteOrder.equal(view.revision, revision.bytes)
    writeHead(view, isSame ? Self.hasSameRevision : 0, into: buffer)
    text.write(view.text, into: buffer)
    writeSubject(view, into: buffer)
    if view.flags.contains(.lacksID) { EntryHead.write(view.id, into: buffer) }
    if !isSame {
      EntryHead.write(view.revision, into: buffer)
      revision.removeAll()
      revision.append(view.revision)
    }
    room.removeAll()
    room.append(view.results)
    if let plugins = view.plugins { EntryHead.write(plugins, into: room) }
    results.write(room.bytes, into: buffer)
    room.removeAll()
    view.writeDigests(into: room)
    digests.write(room.bytes, into: buffer)
    if view.origin == .retry || view.origin == .timer {
      EntryHead.write(view.plugin, into: buffer)
      EntryHead.write(view.timer, into: buffer)
    }
    if !view.redacted.isEmpty { EntryHead.write(view.redacted, into: buffer) }
  }

  private mutating func writeHead(_ view: EntryView, _ bits: UInt8, into buffer: ByteBuffer) {
    var flags = bits | view.origin.number
    if view.flags.contains(.lacksID) { flags |= EntryHead.Flags.lacksID.rawValue }
    if view.now != view.at { flags |= EntryHead.Flags.hasNow.rawValue }
    if view.consequences != 0 { flags |= EntryHead.Flags.hasConsequences.rawValue }
    if !view.redacted.isEmpty { flags |= Self.hasRedacted }
    buffer.append(flags)
    buffer.append(small: view.sequence - sequence)
    buffer.append(signed: view.at &- at)
    if view.now != view.at { buffer.append(signed: view.now &- view.at) }
    sequence = view.sequence
    at = view.at
    buffer.append(small: view.version)
    if view.consequences != 0 { buffer.append(bigEndian: view.consequences) }
  }

  private mutating func writeSubject(_ view: EntryView, into buffer: ByteBuffer) {
    let (text, subject) = (view.text, view.subject)
    if !Self.has(subject, in: text, at: subjectOffset) {
      guard !subject.isEmpty, let found = text.firstOffset(of: subject) else {
        buffer.append(0)
        return EntryHead.write(subject, into: buffer)
      }
      subjectOffset = found
    }
    buffer.append(small: UInt64(subjectOffset + 1))
    buffer.append(small: UInt64(subject.count))
  }

  private static func has(_ subject: ByteView, in text: ByteView, at offset: Int) -> Bool {
    !subject.isEmpty && offset + subject.count <= text.count
      && ByteOrder.equal(text.extracting(offset..<offset + subject.count), subject)
  }

  // MARK: Reading

  /// Reads the next entry, valid until the one after it is read; nil at the end, or if the bytes are no entry.
  mutating func read(_ reader: inout BlockReader) -> EntryView? {
    guard let (head, flags) = Self.readHead(&reader, &sequence, &at), let text = text.read(&reader),
      let subject = Self.readSubject(&reader, in: text)
    else { return nil }
    var view = head
    view.text = text
    view.subject = subject
    if view.flags.contains(.lacksID) {
      guard let id = reader.string() else { return nil }
      view.id = id
    }
    if flags & Self.hasSameRevision == 0 {
      guard let next = reader.string() else { return nil }
      revision.removeAll()
      revision.append(next)
    }
    view.revision = revision.bytes
    guard let results = results.read(&reader), let digests = digests.read(&reader) else { return nil }
    var parts = BlockReader(results)
    view.results = parts.strings(3) ?? .empty
    view.plugins = parts.string()
    view.states = .digests(digests)
    return Self.readTail(&reader, flags, of: &view) ? view : nil
  }

  private static func readSubject(_ reader: inout BlockReader, in text: ByteView) -> ByteView? {
    guard let next = reader.varint() else { return nil }
    guard next > 0 else { return reader.string() }
    let offset = next - 1
    guard let count = reader.varint(), offset <= UInt64(text.count), count <= UInt64(text.count) - offset else {
      return nil
    }
    return text.extracting(Int(offset)..<Int(offset + count))
  }

  /// Reads the part before the event in all layouts; returns it with the flags.
  static func readHead(
    _ reader: inout BlockReader, _ sequence: inout UInt64, _ at: inout Int64
  ) -> (EntryView, flags: UInt8)? {
    guard let first = reader.byte(), let origin = JournalEntry.Origin(number: first & 7), let step = reader.varint(),
      let later = reader.signed()
    else { return nil }
    let known: EntryHead.Flags = [.lacksID, .hasNow, .hasConsequences]
    let flags = EntryHead.Flags(rawValue: first & known.rawValue)
    sequence &+= step
    at &+= later
    var now = at
    if flags.contains(.hasNow) {
      guard let differs = reader.signed() else { return nil }
      now &+= differs
    }
    guard let version = reader.varint(), let consequences = flags.contains(.hasConsequences) ? reader.word32() : 0
    else { return nil }
    let view = EntryView(
      sequence: sequence, origin: origin, flags: flags, at: at, now: now, version: version, text: .empty,
      consequences: consequences)
    return (view, first)
  }

  /// Reads the parts after the digests in all layouts; returns false if the bytes are no such parts.
  static func readTail(_ reader: inout BlockReader, _ flags: UInt8, of view: inout EntryView) -> Bool {
    if view.origin == .retry || view.origin == .timer {
      guard let plugin = reader.string(), let timer = reader.string() else { return false }
      view.plugin = plugin
      view.timer = timer
    }
    if flags & hasRedacted != 0 {
      guard let redacted = reader.string() else { return false }
      view.redacted = redacted
    }
    return true
  }
}

/// A part that all entries of a block have, each written as its difference from the one before.
///
/// The difference is the length of the common prefix and of the common suffix, as varints, and the string between them.
struct RepeatedPart {
  private var last = ByteBuffer(capacity: 256)
  /// The buffer in which the next one is put together.
  private var next = ByteBuffer(capacity: 256)

  mutating func write(_ bytes: ByteView, into buffer: ByteBuffer) {
    let before = last.bytes
    let prefix = ByteOrder.commonPrefix(of: before, bytes)
    let suffix = ByteOrder.commonSuffix(of: before, bytes, most: min(before.count, bytes.count) - prefix)
    buffer.append(small: UInt64(prefix))
    buffer.append(small: UInt64(suffix))
    buffer.append(small: UInt64(bytes.count - prefix - suffix))
    buffer.append(bytes.extracting(prefix..<bytes.count - suffix))
    last.removeAll()
    last.append(bytes)
  }

  /// Reads the next one, valid until the one after it is read; nil if the bytes are no such part.
  mutating func read(_ reader: inout BlockReader) -> ByteView? {
    let before = last.bytes
    guard let prefix = reader.varint(), let suffix = reader.varint(), let middle = reader.string(),
      prefix <= UInt64(before.count), suffix <= UInt64(before.count) - prefix
    else { return nil }
    next.removeAll()
    next.append(before.extracting(first: Int(prefix)))
    next.append(middle)
    next.append(before.extracting((before.count - Int(suffix))...))
    swap(&last, &next)
    return last.bytes
  }
}
