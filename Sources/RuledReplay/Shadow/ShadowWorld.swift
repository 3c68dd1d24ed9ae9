package import RuledCore
package import RuledEngine
package import RuledJournal
package import RuledLua
package import RuledStore

/// A world in which other rules see live events, and a comparison of their outcomes with the live ones.
///
/// It begins with a copy of the store and follows the journal. The journal has the live outcomes, so no event is evaluated twice on the
/// live side. It belongs to one thread.
package final class ShadowWorld {
  package private(set) var events = 0
  /// How many of them had redacted values, for which they and later ones of their subjects may come out differently.
  private var redacted = 0
  private let world: World
  private let share: SubjectShare
  private let comparison = Comparison()
  private var examples: [JSONValue] = []
  private let mostSkipped: Int
  private var earlier: [JournalEntry] = []
  /// The hashes of the subjects that it no longer sees, because some of their events were skipped.
  package private(set) var skipped: Set<UInt64> = []

  /// How many examples of differences are kept: the last ones.
  private static let mostExamples = 10

  /// A world that has seen nothing yet, with rules that no other engine uses; it changes `base`, a copy of the live store.
  ///
  /// `lua` is the calling thread's worker. Throws when the copy can't be read.
  package init(
    rules: Catalog, on share: SubjectShare, lua: LuaWorker, base: any StateStore, configuration: Configuration,
    mostSkipped: Int = Limits.skippedSubjects
  ) throws(RequestError) {
    self.share = share
    self.mostSkipped = mostSkipped
    world = try World(rules: rules, lua: lua, base: base, configuration: configuration, recorded: RecordedHistory())
  }

  /// Plays entries of the journal; `upcoming` are the known entries that follow them.
  ///
  /// A message of this world waits for its live counterpart if that is among these. The erasure of a past comes with the entry of the kept records.
  package func play(_ entries: [JournalEntry], before upcoming: [JournalEntry]) throws(RequestError) {
    var history = RecordedHistory((entries + upcoming).filter(sees), after: earlier)
    history.isPlayed = { [share, skipped] subject in
      share.contains(Array(subject.utf8)) && !skipped.contains(subject.nameHash)
    }
    try world.expect(history)
    for entry in entries where entry.origin != .rules {
      if sees(entry) { try play(entry) } else { try erase(entry) }
    }
    if !entries.isEmpty { earlier = entries }
  }

  /// Erases a subject whose other events are not seen any more, if an entry says so.
  private func erase(_ entry: JournalEntry) throws(RequestError) {
    guard entry.origin == .forget else { return }
    _ = try world.play(entry)
    forget(entry.subject)
  }

  private func forget(_ subject: String) {
    comparison.forget(subject)
    examples.removeAll { $0["subject"]?.stringValue == subject }
  }

  /// Skips entries, and all later ones of the same subjects.
  ///
  /// Throws `overloaded` when it has skipped as many subjects as it can keep in mind: it must not go on then.
  package func skip(_ entries: [JournalEntry]) throws(RequestError) {
    for entry in entries where entry.origin != .rules {
      try erase(entry)
      guard sees(entry) else { continue }
      guard skipped.count < mostSkipped else {
        throw RequestError(
          .overloaded,
          "it could not keep up, and skipped \(mostSkipped) subjects, the most that it can keep in mind; "
            + "start one with a smaller 'percent'")
      }
      skipped.insert(entry.subject.nameHash)
    }
  }

  /// Whether an entry's subject is in the share, and was not skipped.
  private func sees(_ entry: JournalEntry) -> Bool {
    share.contains(Array(entry.subject.utf8)) && (skipped.isEmpty || !skipped.contains(entry.subject.nameHash))
  }

  private func play(_ entry: JournalEntry) throws(RequestError) {
    let played = try world.play(entry)
    if entry.origin == .forget { forget(entry.subject) }
    guard entry.isEvent else { return }
    events += 1
    if !entry.redacted.isEmpty { redacted += 1 }
    for other in played where !other.isRecorded { comparison.add(baseline: nil, candidate: other) }
    let own = played.first { $0.isRecorded }
    comparison.add(baseline: Played(entry: entry, isRecorded: true), candidate: own)
    noteDifference(entry, own?.entry)
  }

  // MARK: Results

  private func noteDifference(_ live: JournalEntry, _ own: JournalEntry?) {
    if let own, own.decisions == live.decisions, own.effects == live.effects,
      own.failures.isEmpty == live.failures.isEmpty
    {
      return
    }
    if examples.count == Self.mostExamples { examples.removeFirst() }
    examples.append([
      "subject": .string(live.subject), "event": .string(live.eventID), "before": .object(live.outcome),
      "after": own.map { .object($0.outcome) } ?? .null,
    ])
  }

  /// The comparison so far: `{events, subjects, outcomes, decisions, examples, redacted?}`.
  package var found: JSONObject {
    var found: JSONObject = [
      "events": .integer(Int64(events)), "subjects": .integer(Int64(comparison.subjectCount)),
      "outcomes": Comparison.equalAndChanged(comparison.outcomes), "decisions": comparison.decisions.json,
      "examples": .array(examples),
    ]
    if redacted > 0 { found["redacted"] = .integer(Int64(redacted)) }
    return found
  }
}
