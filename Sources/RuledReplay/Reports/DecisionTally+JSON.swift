import RuledCore

extension DecisionTally {
  /// The report's `decisions`, those with changes first: an object for each plugin and key.
  func json(mostChanges: Int = 10) -> JSONValue {
    .array(sorted.map { Self.json(of: $0, mostChanges) })
  }

  private static func json(of figures: Figures, _ mostChanges: Int) -> JSONValue {
    let changes = figures.changes.top(mostChanges).map { entry -> JSONValue in
      [
        "before": value(of: entry.thing.before), "after": value(of: entry.thing.after),
        "count": .integer(Int64(entry.count)),
      ]
    }
    let numbers = figures.numbers.sorted { $0.key < $1.key }.map { path, sides -> JSONValue in
      ["path": .string(path), "before": sides.before.json, "after": sides.after.json]
    }
    return [
      "plugin": .string(figures.plugin), "key": .string(figures.key), "equal": .integer(Int64(figures.equal)),
      "changed": .integer(Int64(figures.changed)), "new": .integer(Int64(figures.new)),
      "gone": .integer(Int64(figures.gone)), "changes": .array(changes), "numbers": .array(numbers),
    ]
  }

  private static func value(of text: [UInt8]?) -> JSONValue {
    guard let text else { return .null }
    return (try? JSONValue(parsing: String(decoding: text, as: UTF8.self))) ?? .null
  }

  /// Details for reports to people: changes within values, and events with them.
  var details: [DecisionDetails] {
    sorted.map { figures in
      DecisionDetails(
        plugin: figures.plugin, key: figures.key,
        members: figures.members.top(10).map { entry in
          DecisionDetails.Member(
            path: entry.thing.path, before: Self.value(of: entry.thing.change.before),
            after: Self.value(of: entry.thing.change.after), count: entry.count)
        },
        examples: figures.examples)
    }
  }

  /// The figures, those with most changes first.
  private var sorted: [Figures] {
    all.sorted { left, right in
      let (most, least) = (right.changed + right.new + right.gone, left.changed + left.new + left.gone)
      return (most, left.plugin, left.key) < (least, right.plugin, right.key)
    }
  }
}
