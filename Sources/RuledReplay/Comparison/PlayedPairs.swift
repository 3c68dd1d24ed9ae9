import RuledJournal

/// Pairs the same events of one step on two sides.
enum PlayedPairs {
  /// The identity of an event: kind, subject, and the id or, where no ids agree, the type.
  private struct Name: Hashable {
    var origin: JournalEntry.Origin
    var subject: String
    var text: String
  }

  /// The pairs of a step, in the baseline's order, and then the events of the candidate alone.
  static func match(_ baseline: [Played], _ candidate: [Played]) -> [(baseline: Played?, candidate: Played?)] {
    var partners: [Int?] = Array(repeating: nil, count: baseline.count)
    var free = Set(candidate.indices)
    if let left = baseline.firstIndex(where: \.isRecorded), let right = candidate.firstIndex(where: \.isRecorded) {
      partners[left] = right
      free.remove(right)
    }
    pair(baseline, candidate, &partners, &free) { $0.eventID }
    pair(baseline, candidate, &partners, &free) { $0.eventType }
    return baseline.indices.map { index in
      (baseline[index], partners[index].map { candidate[$0] })
    } + free.sorted().map { (nil, candidate[$0]) }
  }

  private static func pair(
    _ baseline: [Played], _ candidate: [Played], _ partners: inout [Int?], _ free: inout Set<Int>,
    by text: (JournalEntry) -> String
  ) {
    guard !free.isEmpty, partners.contains(where: { $0 == nil }) else { return }
    func name(_ played: Played) -> Name {
      Name(origin: played.entry.origin, subject: played.entry.subject, text: text(played.entry))
    }
    var waiting: [Name: [Int]] = [:]
    for index in free.sorted(by: >) { waiting[name(candidate[index]), default: []].append(index) }
    for index in baseline.indices where partners[index] == nil {
      guard let partner = waiting[name(baseline[index])]?.popLast() else { continue }
      partners[index] = partner
      free.remove(partner)
    }
  }
}
