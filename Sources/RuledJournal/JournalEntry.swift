package import RuledCore

/// An event that took effect: the journal has the event, its time, and its outcome under the rules of that time.
///
/// A class, because a replay passes entries on many times: a struct would retain and release each of its parts every time.
package final class JournalEntry: Sendable, Equatable {
  package enum Origin: String, Sendable, CaseIterable {
    case client
    /// Another subject's event sent it.
    case message
    case timer
    /// It was parked and succeeded when it was retried.
    case retry
    /// The subject was erased.
    case forget
    /// Other rules or settings came into force; it has no subject.
    case rules
    /// The data that a subject kept when its past was erased: it follows that `forget`, and is no event.
    case kept
  }

  /// Its number, the same as the `sequence` in `watch`; later commits have higher ones.
  package let sequence: UInt64
  /// When it was evaluated, by the daemon's clock.
  package let at: Timestamp
  /// The value of `now()` for its rules: the due time for a timer that fired in time, `at` for all others.
  package let now: Timestamp
  /// The subject; empty for `rules`.
  package let subject: String
  /// The subject's version after the event; 0 for `forget` and `rules`.
  package let version: UInt64
  /// The revision of the rules that decided; for `rules` the one that came into force.
  package let revision: String
  package let origin: Origin
  /// The event as JSON.
  ///
  /// A client's event is as it was sent, with the id that the daemon gave it if it had none; a message's or a timer's event is as it was
  /// stored; a parked part's is the first event.
  package let event: [UInt8]
  /// The plugin whose timer fired, or whose parked part was retried; empty for all others.
  package let plugin: String
  /// The name of the timer that fired; empty for all others.
  package let timer: String
  /// The decisions, as the members of a JSON object.
  package let decisions: [UInt8]
  /// The effects, as the elements of a JSON array.
  package let effects: [UInt8]
  /// The failures, likewise.
  package let failures: [UInt8]
  /// The digest of each plugin's state after the event, by the plugins' names; plugins without a state are left out.
  package let digests: [Digest]
  /// The digest of the event's consequences: messages that it sent, timers that it set or cancelled; 0 for none.
  package let consequences: UInt32
  /// The paths in `data` whose values were replaced by digests.
  package let redacted: [String]

  /// The digest of one plugin's state.
  package struct Digest: Sendable, Equatable {
    package var plugin: String
    /// `hash64` with the seed 0 of the state's bytes as they are stored.
    package var state: UInt64

    package init(plugin: String, state: UInt64) {
      self.plugin = plugin
      self.state = state
    }
  }

  package init(
    sequence: UInt64, at: Timestamp, now: Timestamp, subject: String, version: UInt64, revision: String, origin: Origin,
    event: [UInt8], plugin: String = "", timer: String = "", decisions: [UInt8] = [], effects: [UInt8] = [],
    failures: [UInt8] = [], digests: [Digest] = [], consequences: UInt32 = 0, redacted: [String] = []
  ) {
    self.sequence = sequence
    self.at = at
    self.now = now
    self.subject = subject
    self.version = version
    self.revision = revision
    self.origin = origin
    self.event = event
    self.plugin = plugin
    self.timer = timer
    self.decisions = decisions
    self.effects = effects
    self.failures = failures
    self.digests = digests
    self.consequences = consequences
    self.redacted = redacted
  }

  /// A copy with the given values in place of its own.
  package func with(
    sequence: UInt64? = nil, at: Timestamp? = nil, now: Timestamp? = nil, revision: String? = nil,
    origin: Origin? = nil, event: [UInt8]? = nil, plugin: String? = nil, timer: String? = nil, failures: [UInt8]? = nil,
    redacted: [String]? = nil
  ) -> JournalEntry {
    JournalEntry(
      sequence: sequence ?? self.sequence, at: at ?? self.at, now: now ?? self.now, subject: subject, version: version,
      revision: revision ?? self.revision, origin: origin ?? self.origin, event: event ?? self.event,
      plugin: plugin ?? self.plugin, timer: timer ?? self.timer, decisions: decisions, effects: effects,
      failures: failures ?? self.failures, digests: digests, consequences: consequences,
      redacted: redacted ?? self.redacted)
  }

  package static func == (left: JournalEntry, right: JournalEntry) -> Bool {
    left === right
      || (left.sequence == right.sequence && left.at == right.at && left.now == right.now
        && left.subject == right.subject && left.version == right.version && left.revision == right.revision
        && left.origin == right.origin && left.event == right.event && left.plugin == right.plugin
        && left.timer == right.timer && left.decisions == right.decisions && left.effects == right.effects
        && left.failures == right.failures && left.digests == right.digests
        && left.consequences == right.consequences && left.redacted == right.redacted)
  }
}
