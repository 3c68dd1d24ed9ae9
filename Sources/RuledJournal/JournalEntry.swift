package import RuledCore

/// An event that took effect, as the journal keeps it: what happened, when, and what the rules of then made of it.
package struct JournalEntry: Sendable, Equatable {
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
  package var sequence: UInt64
  /// When it was evaluated, by the daemon's clock.
  package var at: Timestamp
  /// What `now()` was for its rules: the due time for a timer that fired in time, `at` for all others.
  package var now: Timestamp
  /// The subject; empty for `rules`.
  package var subject: String
  /// How many events were committed for the subject, this one included; 0 for `forget` and `rules`.
  package var version: UInt64
  /// The revision of the rules that decided; for `rules` the one that came into force.
  package var revision: String
  /// Where it comes from.
  package var origin: Origin
  /// The event as JSON: a client's as it was sent, with the id that it got if it came without; that of a message or a timer as it was stored;
  /// of a parked part the first event.
  package var event: [UInt8]
  /// The plugin whose timer fired, or whose parked part was retried; empty for all others.
  package var plugin: String
  /// The name of the timer that fired; empty for all others.
  package var timer: String
  /// The decisions, as the members of a JSON object.
  package var decisions: [UInt8]
  /// The effects, as the elements of a JSON array.
  package var effects: [UInt8]
  /// The failures, likewise.
  package var failures: [UInt8]
  /// The digest of each plugin's state afterwards, in order of the plugins' names; those without a state are left out.
  package var digests: [Digest]
  /// The digest of what follows from the event beside its outcome: messages that were sent, timers that were set or cancelled; 0 if nothing does.
  package var consequences: UInt32
  /// The paths in `data` whose values were replaced with digests.
  package var redacted: [String]

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
}
