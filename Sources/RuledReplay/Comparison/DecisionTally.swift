import RuledCore

/// Compares the decisions of two sides by plugin and key: how many are equal, how the others changed, and the numbers in them.
///
/// Its memory is bounded, whatever the rules decide. Equal decisions that occur often are counted without being parsed.
struct DecisionTally {
  struct Figures: Sendable {
    var plugin: String
    var key: String
    /// How often both sides decided the same value.
    var equal = 0
    /// How often both decided, and not the same value.
    var changed = 0
    /// How often the candidate alone decided.
    var new = 0
    /// How often the baseline alone decided.
    var gone = 0
    /// The commonest changes, each with the subject that alone had it.
    var changes = CommonCounts<Change, OnlySubject>(capacity: 256, join: OnlySubject.join)
    /// The commonest changes within values that are objects or arrays on both sides, each with its path and the subject that alone had it.
    var members = CommonCounts<Change, OnlySubject>(capacity: 256, join: OnlySubject.join)
    /// Some of the events that it changed for, each of another subject.
    var examples: [Example] = []
    /// The numbers in the values, by their path.
    var numbers: [String: NumbersOfSides] = [:]
  }

  /// The one subject that had something, by its hash; nil once others had it, too.
  struct OnlySubject: Sendable {
    var hash: UInt64?

    @Sendable static func join(_ first: OnlySubject, _ second: OnlySubject) -> OnlySubject {
      first.hash == second.hash ? first : OnlySubject()
    }
  }

  /// A value that was decided in place of another, as JSON.
  struct Change: Hashable, Sendable {
    /// The path in the decision; nil for the whole of it.
    var path: String?
    var before: [UInt8]?
    var after: [UInt8]?
  }

  /// An event that a decision changed for.
  struct Example: Sendable {
    enum Kind: String, Sendable { case changed, new, gone }
    var kind: Kind
    var subject: String
    var event: String
    /// The sequence of the entry with which it happened.
    var position: UInt64
  }

  /// The numbers at one path, on both sides.
  struct NumbersOfSides: Sendable {
    var before = NumberSummary()
    var after = NumberSummary()
  }

  /// Equal decisions that were parsed before, and how often they have come since their figures were brought up to date.
  private struct Memo {
    var decisions: [UInt8]
    var times: Int
  }

  /// How many pairs of plugin and key have figures of their own; all further ones share those called `…`.
  static let mostKeys = 2048
  private static let memoSlots = 4096
  /// How many examples of each kind are kept for each key.
  private static let mostExamples = 5

  private var figures: [Figures] = []
  private var positions: [QualifiedName: Int] = [:]
  private var memos: [Memo] = Array(repeating: Memo(decisions: [], times: 0), count: memoSlots)
  private let reader = DecisionReader()

  /// Adds the decisions of one event on both sides, each the members of an object of plugins; nil where the event did not happen.
  ///
  /// `event` names the event's subject and id, if its decisions changed; `sequence` is that of the entry with which it happened.
  mutating func add(
    before: [UInt8]?, after: [UInt8]?, at sequence: UInt64 = 0,
    event: @autoclosure () -> (subject: String, id: String) = ("", "")
  ) {
    if before == after {
      if let decisions = before, !decisions.isEmpty { addEqual(decisions) }
      return
    }
    let left = before.map(reader.read) ?? []
    let right = after.map(reader.read) ?? []
    if left.isEmpty, right.isEmpty { return }
    let (subject, id) = event()
    let event = (subject: subject, id: id, position: sequence)
    for decision in left {
      let other = right.first { $0.name == decision.name }
      let position = position(of: decision.name)
      addNumbers(of: decision, at: position, \.before)
      guard let other else {
        figures[position].gone += 1
        addChange(decision, nil, at: position, .gone, event)
        continue
      }
      addNumbers(of: other, at: position, \.after)
      if other.value == decision.value {
        figures[position].equal += 1
      } else {
        figures[position].changed += 1
        addChange(decision, other, at: position, .changed, event)
      }
    }
    for decision in right where !left.contains(where: { $0.name == decision.name }) {
      let position = position(of: decision.name)
      addNumbers(of: decision, at: position, \.after)
      figures[position].new += 1
      addChange(nil, decision, at: position, .new, event)
    }
  }

  private mutating func addChange(
    _ before: Decision?, _ after: Decision?, at position: Int, _ kind: Example.Kind,
    _ event: (subject: String, id: String, position: UInt64)
  ) {
    let subject = OnlySubject(hash: event.subject.nameHash)
    figures[position].changes.add(
      Change(before: before?.shown, after: after?.shown), at: event.position, note: subject)
    if let before, let after {
      for change in ValueDifference.between(before.value, after.value) {
        figures[position].members.add(change, at: event.position, note: subject)
      }
    }
    let examples = figures[position].examples
    guard examples.count(where: { $0.kind == kind }) < Self.mostExamples,
      !examples.contains(where: { $0.kind == kind && $0.subject == event.subject })
    else { return }
    figures[position].examples.append(
      Example(kind: kind, subject: event.subject, event: event.id, position: event.position))
  }

  /// Drops the values that a subject alone had, which was erased, and its examples.
  mutating func forget(_ subject: String) {
    let hash = subject.nameHash
    for position in figures.indices {
      figures[position].changes.removeAll { $0.hash == hash }
      figures[position].members.removeAll { $0.hash == hash }
      figures[position].examples.removeAll { $0.subject == subject }
    }
  }

  mutating func merge(_ other: DecisionTally) {
    for theirs in other.all {
      let position = position(of: QualifiedName(theirs.plugin, theirs.key))
      figures[position].equal += theirs.equal
      figures[position].changed += theirs.changed
      figures[position].new += theirs.new
      figures[position].gone += theirs.gone
      figures[position].changes.merge(theirs.changes)
      figures[position].members.merge(theirs.members)
      figures[position].examples = Self.first(of: figures[position].examples, theirs.examples)
      for (path, numbers) in theirs.numbers {
        figures[position].numbers[path, default: NumbersOfSides()].before.merge(numbers.before)
        figures[position].numbers[path, default: NumbersOfSides()].after.merge(numbers.after)
      }
    }
  }

  /// The earliest examples of each kind, in order.
  private static func first(of examples: [Example], _ others: [Example]) -> [Example] {
    let all = (examples + others).enumerated()
      .sorted { ($0.element.position, $0.offset) < ($1.element.position, $1.offset) }
    var counts: [Example.Kind: Int] = [:]
    return all.map(\.element).filter { example in
      counts[example.kind, default: 0] += 1
      return counts[example.kind, default: 0] <= mostExamples
    }
  }

  // MARK: Equal decisions

  private mutating func addEqual(_ decisions: [UInt8]) {
    let slot = Int(decisions.withView { hash64($0, seed: 0) } % UInt64(Self.memoSlots))
    if memos[slot].times > 0, memos[slot].decisions == decisions {
      memos[slot].times += 1
      return
    }
    let old = memos[slot]
    memos[slot] = Memo(decisions: decisions, times: 1)
    if old.times > 0 { count(old) }
  }

  private mutating func count(_ memo: Memo) {
    for decision in reader.read(memo.decisions) {
      let position = position(of: decision.name)
      figures[position].equal += memo.times
      addNumbers(of: decision, at: position, \.before, times: memo.times)
      addNumbers(of: decision, at: position, \.after, times: memo.times)
    }
  }

  /// The figures of all keys, with the counts of the memos.
  var all: [Figures] {
    var tally = self
    for memo in memos where memo.times > 0 { tally.count(memo) }
    return tally.figures
  }

  // MARK: JSON

  /// The report's `decisions`, those with changes first: an object for each plugin and key.
  var json: JSONValue { .array(sorted.map { .object(Self.json(of: $0)) }) }

  /// The same for people: each also with `members`, its changes within values, and `examples`, some of the events that it changed for.
  var details: [JSONValue] {
    sorted.map { figures in
      var details = Self.json(of: figures)
      details["members"] = .array(figures.members.top(10).map(Self.json))
      details["examples"] = .array(
        figures.examples.map { example in
          [
            "kind": .string(example.kind.rawValue), "subject": .string(example.subject),
            "event": .string(example.event),
          ]
        })
      return .object(details)
    }
  }

  private static func json(of figures: Figures) -> JSONObject {
    let numbers = figures.numbers.sorted { $0.key < $1.key }.map { path, sides -> JSONValue in
      ["path": .string(path), "before": sides.before.json, "after": sides.after.json]
    }
    return [
      "plugin": .string(figures.plugin), "key": .string(figures.key), "equal": .integer(Int64(figures.equal)),
      "changed": .integer(Int64(figures.changed)), "new": .integer(Int64(figures.new)),
      "gone": .integer(Int64(figures.gone)), "changes": .array(figures.changes.top(10).map(json)),
      "numbers": .array(numbers),
    ]
  }

  /// A change with its values, its count and, if it is one within values, its path.
  private static func json(_ entry: CommonCounts<Change, OnlySubject>.Entry) -> JSONValue {
    func value(_ text: [UInt8]?) -> JSONValue { text.flatMap { try? JSONValue(parsing: $0.text) } ?? .null }
    return .members([
      "path": entry.thing.path.map(JSONValue.string), "before": value(entry.thing.before),
      "after": value(entry.thing.after), "count": .integer(Int64(entry.count)),
    ])
  }

  /// The figures, those with most changes first.
  private var sorted: [Figures] {
    all.sorted { left, right in
      let (most, least) = (right.changed + right.new + right.gone, left.changed + left.new + left.gone)
      return (most, left.plugin, left.key) < (least, right.plugin, right.key)
    }
  }

  // MARK: Figures

  private mutating func position(of name: QualifiedName) -> Int {
    if let position = positions[name] { return position }
    let name = positions.count < Self.mostKeys ? name : .others
    if let position = positions[name] { return position }
    positions[name] = figures.count
    figures.append(Figures(plugin: name.plugin, key: name.name.text))
    return figures.count - 1
  }

  private mutating func addNumbers(
    of decision: Decision, at position: Int, _ side: WritableKeyPath<NumbersOfSides, NumberSummary>, times: Int = 1
  ) {
    for number in decision.numbers {
      if figures[position].numbers[number.path] == nil {
        guard figures[position].numbers.count < DecisionReader.mostPaths else { continue }
      }
      figures[position].numbers[number.path, default: NumbersOfSides()][keyPath: side].add(number.value, times: times)
    }
  }
}

/// Finds the differences of two values, down to their members.
private enum ValueDifference {
  /// How many differences of one pair of values are listed.
  private static let most = 32

  /// The differences of two values that are both objects or both arrays; none for others, which differ as a whole.
  static func between(_ before: [UInt8], _ after: [UInt8]) -> [DecisionTally.Change] {
    guard let left = try? JSONValue(parsing: before.text), let right = try? JSONValue(parsing: after.text),
      isDivisible(left, right)
    else { return [] }
    var changes: [DecisionTally.Change] = []
    collect(left, right, at: "", into: &changes)
    return changes
  }

  private static func isDivisible(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object, .object), (.array, .array): true
    default: false
    }
  }

  private static func collect(
    _ left: JSONValue?, _ right: JSONValue?, at path: String, into changes: inout [DecisionTally.Change]
  ) {
    guard left != right, changes.count < most else { return }
    if case .object(let left)? = left, case .object(let right)? = right {
      for name in left.names + right.names.filter({ left[$0] == nil }) {
        collect(left[name], right[name], at: path.isEmpty ? name : "\(path).\(name)", into: &changes)
      }
    } else if case .array(let left)? = left, case .array(let right)? = right, left.count == right.count {
      for (left, right) in zip(left, right) { collect(left, right, at: "\(path)[]", into: &changes) }
    } else {
      changes.append(DecisionTally.Change(path: path, before: text(left), after: text(right)))
    }
  }

  private static func text(_ value: JSONValue?) -> [UInt8]? {
    guard let text = value?.text, text.utf8.count <= 256 else { return nil }
    return Array(text.utf8)
  }
}
