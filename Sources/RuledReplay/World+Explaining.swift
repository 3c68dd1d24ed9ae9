package import RuledCore
import RuledJournal

extension World {
  /// Explains a recorded event as if it happened now, without changing anything.
  ///
  /// - Returns: its outcome with the trace, as the protocol's `event` returns it.
  func explain(_ entry: JournalEntry) throws(RequestError) -> JSONValue {
    let outcome = try evaluator.imposing(imposedFailures(of: entry)) { () throws(RequestError) in
      try evaluator.replay(entry, .explaining)
    }
    return (try? JSONValue(parsing: outcome.bytes)) ?? .null
  }

  /// Plays a recorded event and explains it.
  ///
  /// - Returns: its outcome with the trace, as the protocol's `event` returns it; nil if the event does not happen in this world.
  ///
  /// The trace has the values that rules read unless it `omitsValues`.
  func playExplained(_ entry: JournalEntry, omitsValues: Bool = false) throws(RequestError) -> JSONValue? {
    recorder.explanation = omitsValues ? .withoutValues : .whole
    defer { recorder.explanation = .none }
    guard let made = try play(entry).first(where: \.isRecorded)?.entry else { return nil }
    var outcome: JSONObject = [
      "subject": .string(entry.subject), "id": .string(reader.id(entry.event)), "duplicate": false,
      "version": .integer(Int64(clamping: made.version)), "revision": .string(made.revision),
    ]
    for member in made.outcome { outcome[member.name] = member.value }
    outcome["trace"] = JournalEntry.list(recorder.trace)
    return .object(outcome)
  }

  /// A subject as it is now: `{subject, version, plugins}`.
  package func state(of subject: String) throws(RequestError) -> JSONValue { try evaluator.state(of: subject) }

  /// All that is stored of a subject now, as the method `export` shows it.
  func export(of subject: String) throws(RequestError) -> JSONValue { try evaluator.export(of: subject) }
}
