package import RuledCore

/// The outcome of a remembered event: its reply, without the parts in the key and without the text common to all replies.
///
/// | bytes | what |
/// | --- | --- |
/// | 8 | when it expires, in microseconds since 1970 |
/// | varint | the subject's version after it |
/// | … | the rules' revision, the event's id unless the key has it, decisions, effects and failures, each with its length as varint before it |
/// | 8 | a digest of the event's type and data; older builds left it out |
///
/// Valid as long as its bytes.
package struct RememberedOutcome {
  /// The subject's version after the event.
  package let version: UInt64
  /// The revision of the rules that decided, without quotes.
  package let revision: ByteView
  /// The event's id as it was stored, empty when its key has it.
  package let id: ByteView
  /// The decisions, as the members of a JSON object.
  package let decisions: ByteView
  /// The effects, as the elements of a JSON array.
  package let effects: ByteView
  /// The failures, likewise.
  package let failures: ByteView
  /// Decisions, effects and failures as they were stored, each with its length before it; empty when they were not.
  package let results: ByteView
  /// The digest of the event's type and data as it was stored; nil when it was not.
  package let digest: UInt64?

  package init(version: UInt64, revision: ByteView, decisions: ByteView, effects: ByteView, failures: ByteView) {
    self.version = version
    self.revision = revision
    id = ByteView.empty
    self.decisions = decisions
    self.effects = effects
    self.failures = failures
    results = ByteView.empty
    digest = nil
  }

  /// Takes a stored value apart; throws `corrupt` when it is not a whole one.
  package init(_ value: ByteView) throws(StoreError) {
    var reader = ByteReader(value)
    _ = try reader.take(StoredExpiry.byteCount, "an outcome's expiry")
    version = try reader.varint("an outcome's version")
    revision = try reader.string("an outcome's revision")
    id = try reader.string("an outcome's id")
    let start = reader.offset
    decisions = try reader.string("an outcome's decisions")
    effects = try reader.string("an outcome's effects")
    failures = try reader.string("an outcome's failures")
    results = value.extracting(start..<reader.offset)
    let hasDigest = reader.offset < value.count
    let stored = hasDigest ? try reader.take(8, "an outcome's digest") : ByteView.empty
    digest = hasDigest ? UInt64(bigEndian: stored.load(at: 0, as: UInt64.self)) : nil
  }

  /// Appends the value, which expires at `expiry` in microseconds since 1970.
  ///
  /// `id` is the event's, empty when the key has it; `digest` is of the event's type and data.
  @_effects(releasenone)
  package func write(expiring expiry: Int64, id: ByteView, digest: UInt64, into buffer: ByteBuffer) {
    buffer.append(bigEndian: UInt64(bitPattern: expiry))
    buffer.append(varint: version)
    Self.append(revision, to: buffer)
    Self.append(id, to: buffer)
    Self.append(decisions, to: buffer)
    Self.append(effects, to: buffer)
    Self.append(failures, to: buffer)
    buffer.append(bigEndian: digest)
  }

  private static func append(_ part: ByteView, to buffer: ByteBuffer) {
    buffer.append(varint: UInt64(part.count))
    buffer.append(part)
  }
}
