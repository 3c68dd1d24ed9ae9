/// Counts how often things occur and keeps the commonest, in bounded memory.
///
/// Counts are exact while no more than `capacity` different things came. Beyond that the rarest are dropped from time to time, and count from
/// zero if they come again: what is common keeps nearly all of its count, and no count is ever too high.
package struct CommonCounts<Thing: Hashable & Sendable, Note: Sendable>: Sendable {
  /// A thing that was counted.
  package struct Entry: Sendable {
    /// What was counted.
    package var thing: Thing
    /// How often, at least.
    package var count: Int
    /// What was noted when it came first.
    package var note: Note
    /// The position at which it came first: of things that are equally common the earlier ones go first.
    fileprivate var order: Int
  }

  private let capacity: Int
  private var entries: [Thing: Entry] = [:]
  private var next = 0

  /// Counts of nothing.
  ///
  /// - Parameter capacity: how many things are kept at least; up to twice as many are held.
  package init(capacity: Int) { self.capacity = capacity }

  /// Counts a thing, `times` times; `note` is kept if it is new.
  package mutating func add(_ thing: Thing, times: Int = 1, note: @autoclosure () -> Note) {
    if let index = entries.index(forKey: thing) {
      entries.values[index].count += times
      return
    }
    next += 1
    entries[thing] = Entry(thing: thing, count: times, note: note(), order: next)
    if entries.count >= 2 * capacity { dropRarest() }
  }

  /// Adds all counts of others.
  package mutating func merge(_ other: CommonCounts) {
    for entry in other.top(.max) { add(entry.thing, times: entry.count, note: entry.note) }
  }

  /// The commonest, in descending order of their counts.
  package func top(_ limit: Int) -> [Entry] {
    Array(entries.values.sorted { ($1.count, $0.order) < ($0.count, $1.order) }.prefix(limit))
  }

  private mutating func dropRarest() {
    let kept = top(capacity)
    entries.removeAll(keepingCapacity: true)
    for entry in kept { entries[entry.thing] = entry }
  }
}

/// For counts without notes.
package struct NoNote: Sendable {
  /// Nothing to note.
  package init() {}
}

extension CommonCounts where Note == NoNote {
  /// Counts a thing, `times` times.
  package mutating func add(_ thing: Thing, times: Int = 1) { add(thing, times: times, note: NoNote()) }
}
