import RuledJournal

/// For each plugin the first event after which the two sides have another state of its subject.
struct StateDifferences: Sendable {
  /// An event after which a state differs.
  struct First: Sendable {
    /// Its place in the order of all events.
    let sequence: UInt64
    let subject: String
    let event: String
  }

  private var first: [String: First] = [:]

  mutating func add(_ before: JournalEntry, _ after: JournalEntry) {
    guard before.digests != after.digests else { return }
    for digest in before.digests where !after.digests.contains(digest) { note(digest.plugin, before) }
    for digest in after.digests where !before.digests.contains(digest) { note(digest.plugin, before) }
  }

  private mutating func note(_ plugin: String, _ entry: JournalEntry) {
    if let known = first[plugin], known.sequence < entry.sequence { return }
    add(First(sequence: entry.sequence, subject: entry.subject, event: EventText.id(entry.event)), of: plugin)
  }

  mutating func merge(_ other: StateDifferences) {
    for (plugin, event) in other.first { add(event, of: plugin) }
  }

  private mutating func add(_ event: First, of plugin: String) {
    // Messages have the sequence of the event before them.
    guard let known = first[plugin] else { return first[plugin] = event }
    let order = (event.sequence, event.subject, event.event)
    if order < (known.sequence, known.subject, known.event) { first[plugin] = event }
  }

  /// The events found, by plugin, in the order of the plugins' names.
  var all: [(plugin: String, subject: String, event: String)] {
    first.sorted { $0.key < $1.key }.map { (plugin: $0.key, subject: $0.value.subject, event: $0.value.event) }
  }
}
