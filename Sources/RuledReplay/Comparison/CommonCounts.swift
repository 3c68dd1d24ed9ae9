import RuledCore

/// Counts how often things occur and keeps the commonest, in bounded memory.
///
/// Counts are exact while no more than `capacity` different things came. Beyond that the rarest are dropped from time to time, and count
/// from zero if they come again: a common thing keeps nearly all of its count, and no count is ever too high.
struct CommonCounts<Thing: Hashable & Sendable, Note: Sendable>: Sendable {
  struct Entry: Sendable {
    var thing: Thing
    /// How often, at least.
    var count: Int
    /// The note of its first occurrence, or what the notes of all became together.
    var note: Note
    /// The position of its first occurrence: of equally common things the earlier ones go first.
    fileprivate var position: UInt64
    /// The order in which things with the same position came.
    fileprivate let order: Int
  }

  private let capacity: Int
  /// Makes one note of two; nil to keep that of the first occurrence.
  private let join: (@Sendable (Note, Note) -> Note)?
  private var entries: [Thing: Entry] = [:]
  private var next = 0

  /// Counts of nothing, which keep `capacity` things at least, and hold up to twice as many.
  init(capacity: Int, join: (@Sendable (Note, Note) -> Note)? = nil) {
    self.capacity = capacity
    self.join = join
  }

  /// Counts a thing, `times` times; `note` is kept if it is new.
  ///
  /// `position` is its place among all counted things, so that counts of parts can be merged.
  mutating func add(_ thing: Thing, times: Int = 1, at position: UInt64 = 0, note: @autoclosure () -> Note) {
    if let index = entries.index(forKey: thing) {
      entries.values[index].count += times
      if let join { entries.values[index].note = join(entries.values[index].note, note()) }
      return
    }
    next += 1
    entries[thing] = Entry(thing: thing, count: times, note: note(), position: position, order: next)
    if entries.count >= 2 * capacity { dropRarest() }
  }

  mutating func merge(_ other: CommonCounts) {
    for entry in other.top(.max) {
      if let index = entries.index(forKey: entry.thing), entry.position < entries.values[index].position {
        entries.values[index].position = entry.position
        if join == nil { entries.values[index].note = entry.note }
      }
      add(entry.thing, times: entry.count, at: entry.position, note: entry.note)
    }
  }

  /// The commonest, in descending order of their counts.
  func top(_ limit: Int) -> [Entry] {
    let sorted = entries.values.sorted { ($1.count, $0.position, $0.order) < ($0.count, $1.position, $1.order) }
    return Array(sorted.prefix(limit))
  }

  mutating func removeAll(where isDropped: (Note) -> Bool) {
    entries = entries.filter { !isDropped($0.value.note) }
  }

  private mutating func dropRarest() {
    let kept = top(capacity)
    entries.removeAll(keepingCapacity: true)
    for entry in kept { entries[entry.thing] = entry }
  }
}

extension CommonCounts where Note == Void {
  mutating func add(_ thing: Thing, times: Int = 1, at position: UInt64 = 0) {
    add(thing, times: times, at: position, note: ())
  }
}

struct CountOfSides: Sendable, Equatable {
  /// The baseline's.
  var before = 0
  /// The candidate's.
  var after = 0

  static func + (left: CountOfSides, right: CountOfSides) -> CountOfSides {
    CountOfSides(before: left.before + right.before, after: left.after + right.after)
  }

  /// The count as `{"before","after"}`.
  var json: JSONValue { ["before": .integer(Int64(before)), "after": .integer(Int64(after))] }
}
