package import RuledCore
package import RuledJournal
package import RuledReplay

/// Explains some of the events that came out differently, for a report's page: of each decision, and of the subjects that changed most.
///
/// The events are played once more for it.
package final class ExampleSearch {
  package private(set) var found: [BacktestExample] = []
  private let wanted: [(subject: String, event: String)]
  private let subjects: Set<String>

  package init(for result: ComparisonResult) {
    wanted = BacktestExample.wanted(by: result)
    subjects = Set(wanted.map(\.subject))
  }

  package var isComplete: Bool { found.count >= wanted.count }

  /// Explains an entry that both sides are about to play, if it is one that is looked for.
  package func look(at entry: JournalEntry, _ sides: Sides) throws(RequestError) {
    guard subjects.contains(entry.subject) else { return }
    let id = EventText.id(entry.event)
    guard wanted.contains(where: { $0.subject == entry.subject && $0.event == id }) else { return }
    let explained = try sides.explain(entry)
    found.append(
      BacktestExample(
        subject: entry.subject, event: id, type: EventText.type(entry.event), baseline: explained.baseline,
        candidate: explained.candidate))
  }
}
