import RuledJournal

/// For each plugin the first event after which the two sides have another state of its subject.
struct StateDifferences: Sendable {
  /// The event by plugin, with its place in the order of all events; messages have that of the event before them.
  private var first: [String: (sequence: UInt64, subject: String, event: String)] = [:]

  mutating func add(_ before: JournalEntry, _ after: JournalEntry) {
    guard before.digests != after.digests else { return }
    for digest in before.digests where !after.digests.contains(digest) { note(digest.plugin, before) }
    for digest in after.digests where !before.digests.contains(digest) { note(digest.plugin, before) }
  }

  private mutating func note(_ plugin: String, _ entry: JournalEntry) {
    if let known = first[plugin], known.sequence < entry.sequence { return }
    let event = (sequence: entry.sequence, subject: entry.subject, event: entry.eventID)
    first[plugin] = first[plugin].map { $0 < event ? $0 : event } ?? event
  }

  mutating func merge(_ other: StateDifferences) { first.merge(other.first) { $0 < $1 ? $0 : $1 } }

  /// The events found, by plugin, in the order of the plugins' names.
  var all: [(plugin: String, subject: String, event: String)] {
    first.sorted { $0.key < $1.key }.map { (plugin: $0.key, subject: $0.value.subject, event: $0.value.event) }
  }
}
