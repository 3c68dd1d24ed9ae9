package import RuledCore

/// An event that took effect, as the journal keeps it: what happened, when, and what the rules of then made of it.
///
/// A class: a replay hands entries on many times, and a struct would count references to each of their parts every time.
package final class JournalEntry: Sendable, Equatable {
  /// Where an event comes from.
  package enum Origin: String, Sendable, CaseIterable {
    /// A client sent it.
    case client
    /// Another subject's event sent it.
    case message
    /// It is a timer's.
    case timer
    /// It was parked and succeeded when it was retried.
    case retry
    /// The subject was erased.
    case forget
    /// Other rules or settings came into force; it has no subject.
    case rules
  }

  /// Its number among all that the daemon committed, which is the `sequence` of `watch`; later commits have higher ones.
  package let sequence: UInt64
  /// When it was evaluated, by the daemon's clock.
  package let at: Timestamp
  /// What `now()` was for its rules: the due time for a timer that fired in time, `at` for all others.
  package let now: Timestamp
  /// The subject; empty for `rules`.
  package let subject: String
  /// How many events were committed for the subject, this one included; 0 for `forget` and `rules`.
  package let version: UInt64
  /// The revision of the rules that decided; for `rules` the one that came into force.
  package let revision: String
  /// Where it comes from.
  package let origin: Origin
  /// The event as JSON: a client's as it was sent, with the id that it got if it came without; that of a message or a timer as it was stored;
  /// of a parked part the first event.
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
  /// The digest of each plugin's state afterwards, in order of the plugins' names; those without a state are left out.
  package let digests: [Digest]
  /// The digest of what follows from the event beside its outcome: messages that were sent, timers that were set or cancelled; 0 if nothing does.
  package let consequences: UInt32
  /// The paths in `data` whose values were replaced with digests.
  package let redacted: [String]

  /// The digest of one plugin's state.
  package struct Digest: Sendable, Equatable {
    /// The plugin's name.
    package var plugin: String
    /// `hash64` with the seed 0 of the state's bytes as they are stored.
    package var state: UInt64

    /// A digest.
    package init(plugin: String, state: UInt64) {
      self.plugin = plugin
      self.state = state
    }
  }

  /// An entry.
  package init(
    sequence: UInt64, at: Timestamp, now: Timestamp, subject: String, version: UInt64, revision: String,
    origin: Origin, event: [UInt8], plugin: String = "", timer: String = "", decisions: [UInt8] = [],
    effects: [UInt8] = [], failures: [UInt8] = [], digests: [Digest] = [], consequences: UInt32 = 0,
    redacted: [String] = []
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
  /// This entry with other values for what is given.
  package func with(
    sequence: UInt64? = nil, at: Timestamp? = nil, now: Timestamp? = nil, revision: String? = nil,
    origin: Origin? = nil,
    event: [UInt8]? = nil, plugin: String? = nil, timer: String? = nil, failures: [UInt8]? = nil,
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
