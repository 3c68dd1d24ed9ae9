package import RuledCore

/// The keys of all stored values; values that belong together have keys side by side.
///
/// A key begins with the letter of its kind. `0` is one zero byte, which ends a part; subjects, plugins, sources and ids
/// have no control characters, so byte order is the order of the parts. Numbers are eight bytes, most significant first;
/// a time is microseconds since 1970 with its sign bit turned, so that earlier times come first. `docs/architecture.md` has
/// the table of the keys.
///
/// Each function replaces what the buffer has by one key; `ParsedKey` gives the parts back.
package enum StoreKey {
  /// The first byte of a key.
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// `r`: a subject's record.
    case record = 0x72
    /// `d`: a remembered outcome.
    case outcome = 0x64
    /// `h`: a subject's earlier events.
    case earlierEvents = 0x68
    /// `i`: when a remembered outcome expires.
    case outcomeIndex = 0x69
    /// `o`: a plugin's `once` key.
    case once = 0x6F
    /// `t`: a timer.
    case timer = 0x74
    /// `T`: a timer by its due time.
    case timerIndex = 0x54
    /// `m`: a waiting message.
    case message = 0x6D
    /// `e`: an undelivered effect.
    case effect = 0x65
    /// `p`: a parked event.
    case parked = 0x70
    /// `c`: a counter.
    case counter = 0x63
    /// `b`: a place on a board.
    case place = 0x62
    /// `B`: a board.
    case board = 0x42
    /// `j`: that a subject is a member of a topic.
    case membership = 0x6A
    /// `J`: a topic's member.
    case member = 0x4A
    /// `n`: one worker's change of a topic's member count.
    case memberCount = 0x6E
    /// `w`: a publication under way.
    case publication = 0x77
    /// `W`: how far a publication has come.
    case publicationCursor = 0x57
    /// `_`: the daemon's own.
    case daemon = 0x5F

    /// The kinds whose values begin with a `StoredExpiry`, after which they need not be kept.
    static let expiring: [Kind] = [.outcome, .earlierEvents, .outcomeIndex]
  }

  /// The most bytes that source and id have together when they are in the key themselves; longer ones have a digest there.
  package static let longestPlainIdentity = 64

  @_effects(releasenone)
  package static func record(_ subject: some KeyPart, into buffer: ByteBuffer) {
    begin(.record, subject, in: buffer)
  }

  /// The bytes of the expiry in the key of a remembered outcome.
  static let outcomeTimeBytes = 4

  /// The key of a remembered outcome whose source and id have at most `longestPlainIdentity` bytes together.
  ///
  /// It begins with when the outcome expires, in seconds since 1970: outcomes that expire together are stored and dropped together, and outcomes are written
  /// in about the order of their keys.
  package static func outcome(
    expiring seconds: UInt32, _ subject: some KeyPart, source: some KeyPart, id: some KeyPart, into buffer: ByteBuffer
  ) {
    precondition(source.partCount + id.partCount <= longestPlainIdentity, "a long identity is stored by its digest")
    outcomePrefix(expiring: seconds, subject, into: buffer)
    source.appendPart(to: buffer)
    buffer.append(0)
    id.appendPart(to: buffer)
  }

  /// The key of a remembered outcome whose source and id are long: `digest` is a hash of both that can't be forged.
  package static func outcome(
    expiring seconds: UInt32, _ subject: some KeyPart, digest: some KeyPart, into buffer: ByteBuffer
  ) {
    outcomePrefix(expiring: seconds, subject, into: buffer)
    buffer.append(1)
    digest.appendPart(to: buffer)
  }

  /// The prefix of the keys of a subject's outcomes that expire in that second.
  package static func outcomePrefix(expiring seconds: UInt32, _ subject: some KeyPart, into buffer: ByteBuffer) {
    begin(.outcome, in: buffer)
    buffer.append(bigEndian: seconds)
    subject.appendPart(to: buffer)
    buffer.append(0)
  }

  /// The key below which all outcomes are that expired in a second before `cutoff`, in microseconds since 1970.
  static func outcomes(expiringAt cutoff: Int64) -> [UInt8] {
    bytes { buffer in
      begin(.outcome, in: buffer)
      buffer.append(bigEndian: UInt32(clamping: cutoff / 1_000_000))
    }
  }

  package static func earlierEvents(_ subject: some KeyPart, into buffer: ByteBuffer) {
    begin(.earlierEvents, subject, in: buffer)
  }

  /// The key of a subject's item with a number: a message, an effect or a parked event; or of the time when the outcome of an event expires, by the hash
  /// that the record knew the event by.
  package static func numbered(_ kind: Kind, _ subject: some KeyPart, _ number: UInt64, into buffer: ByteBuffer) {
    begin(kind, subject, in: buffer)
    buffer.append(bigEndian: number)
  }

  /// The key of a plugin's item with a name, of a subject: a `once` key, a timer or a membership.
  package static func named(
    _ kind: Kind, _ subject: some KeyPart, plugin: some KeyPart, name: some KeyPart, into buffer: ByteBuffer
  ) {
    begin(kind, in: buffer)
    parts(subject, plugin, name, into: buffer)
  }

  /// The key by which a timer is found when it is due, in microseconds since 1970.
  package static func timerIndex(
    due: Int64, _ subject: some KeyPart, plugin: some KeyPart, name: some KeyPart, into buffer: ByteBuffer
  ) {
    timerIndex(due: due, into: buffer)
    parts(subject, plugin, name, into: buffer)
  }

  /// The prefix of the index keys of timers due at that time; the keys of earlier ones are below it.
  package static func timerIndex(due: Int64, into buffer: ByteBuffer) {
    begin(.timerIndex, in: buffer)
    buffer.append(bigEndian: UInt64(bitPattern: due) ^ (1 << 63))
  }

  /// The key of a counter; equal labels have the same text `labels`.
  package static func counter(_ name: some KeyPart, labels: some KeyPart, into buffer: ByteBuffer) {
    begin(.counter, name, in: buffer)
    labels.appendPart(to: buffer)
  }

  /// The key of a subject's place on a board; a board that was removed and came back has another generation.
  package static func place(
    _ subject: some KeyPart, plugin: some KeyPart, board: some KeyPart, generation: UInt64, into buffer: ByteBuffer
  ) {
    named(.place, subject, plugin: plugin, name: board, into: buffer)
    buffer.append(0)
    buffer.append(bigEndian: generation)
  }

  package static func board(_ board: some KeyPart, of plugin: some KeyPart, into buffer: ByteBuffer) {
    begin(.board, plugin, in: buffer)
    board.appendPart(to: buffer)
  }

  /// The key of a topic's member; without a subject, the prefix of all its members' keys.
  package static func member(
    plugin: some KeyPart, name: some KeyPart, _ subject: some KeyPart, into buffer: ByteBuffer
  ) {
    begin(.member, in: buffer)
    parts(plugin, name, subject, into: buffer)
  }

  package static func memberCount(plugin: some KeyPart, name: some KeyPart, worker: UInt64, into buffer: ByteBuffer) {
    memberCounts(plugin: plugin, name: name, into: buffer)
    buffer.append(bigEndian: worker)
  }

  /// The prefix of the keys of all workers' changes of a topic's member count.
  package static func memberCounts(plugin: some KeyPart, name: some KeyPart, into buffer: ByteBuffer) {
    begin(.memberCount, plugin, in: buffer)
    name.appendPart(to: buffer)
    buffer.append(0)
  }

  /// The key of a publication under way, of a message behind one, or of a publication's cursor; they are in order of their numbers.
  package static func numbered(_ kind: Kind, _ number: UInt64, into buffer: ByteBuffer) {
    begin(kind, in: buffer)
    buffer.append(bigEndian: number)
  }

  package static func daemon(_ name: some KeyPart, into buffer: ByteBuffer) {
    begin(.daemon, in: buffer)
    name.appendPart(to: buffer)
  }

  /// The name under which the daemon keeps the sequence of its last change.
  package static let sequenceName = "sequence"

  /// The prefix of the names of plugins' steps back to earlier versions of their states; the plugin's name follows.
  package static let stepsName = "steps\0"

  /// The prefix of the keys of counters' owners: a counter belongs to the first plugin that counted it.
  package static let counterOwners = [Kind.daemon.rawValue] + Array("counter\0".utf8)

  /// The key of the plugin that a counter belongs to.
  package static func counterOwner(_ name: some KeyPart, labels: some KeyPart, into buffer: ByteBuffer) {
    buffer.removeAll()
    counterOwners.appendPart(to: buffer)
    name.appendPart(to: buffer)
    buffer.append(0)
    labels.appendPart(to: buffer)
  }

  @inline(__always)
  private static func begin(_ kind: Kind, in buffer: ByteBuffer) {
    buffer.removeAll()
    buffer.append(kind.rawValue)
  }

  /// Writes a kind and the part that follows it, with its end.
  private static func begin(_ kind: Kind, _ part: some KeyPart, in buffer: ByteBuffer) {
    begin(kind, in: buffer)
    part.appendPart(to: buffer)
    buffer.append(0)
  }

  /// Appends three parts with a zero byte between them.
  private static func parts(
    _ subject: some KeyPart, _ plugin: some KeyPart, _ name: some KeyPart, into buffer: ByteBuffer
  ) {
    subject.appendPart(to: buffer)
    buffer.append(0)
    plugin.appendPart(to: buffer)
    buffer.append(0)
    name.appendPart(to: buffer)
  }
}

extension StoreKey {
  /// The least key above all keys with that prefix; nil if the prefix has no byte below 255.
  package static func upperBound(_ prefix: [UInt8]) -> [UInt8]? {
    var bound = prefix
    while let last = bound.popLast() {
      if last < 255 {
        bound.append(last + 1)
        return bound
      }
    }
    return nil
  }

  /// The key that `write` writes into a buffer, as an array, where speed does not matter.
  package static func bytes(_ write: (ByteBuffer) -> Void) -> [UInt8] {
    let buffer = ByteBuffer(capacity: 64)
    write(buffer)
    return Array(buffer.bytes)
  }

  package static func prefix(_ kind: Kind) -> [UInt8] { [kind.rawValue] }

  /// The prefix of all keys of that kind and subject, for kinds whose keys begin with a subject; of those of one plugin for `once`, `timer`, `place` and
  /// `membership`.
  package static func prefix(_ kind: Kind, of subject: some KeyPart, plugin: String? = nil) -> [UInt8] {
    bytes { buffer in
      begin(kind, subject, in: buffer)
      guard let plugin else { return }
      plugin.appendPart(to: buffer)
      buffer.append(0)
    }
  }
}

/// A part of a key: text, an array of bytes, or borrowed bytes.
package protocol KeyPart {
  /// The length of the part in bytes.
  var partCount: Int { get }

  func appendPart(to buffer: ByteBuffer)
}

extension KeyPart {
  package var partBytes: [UInt8] {
    let buffer = ByteBuffer(capacity: partCount)
    appendPart(to: buffer)
    return Array(buffer.bytes)
  }
}

extension String: KeyPart {
  package var partCount: Int { utf8.count }

  package func appendPart(to buffer: ByteBuffer) { buffer.append(contentsOf: self) }
}

extension ByteView: KeyPart {
  package var partCount: Int { count }

  package func appendPart(to buffer: ByteBuffer) { buffer.append(self) }
}

extension [UInt8]: KeyPart {
  package var partCount: Int { count }

  package func appendPart(to buffer: ByteBuffer) { withView { buffer.append($0) } }
}
