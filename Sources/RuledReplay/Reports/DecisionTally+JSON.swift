import RuledCore

extension DecisionTally {
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
    func value(_ text: [UInt8]?) -> JSONValue {
      text.flatMap { try? JSONValue(parsing: String(decoding: $0, as: UTF8.self)) } ?? .null
    }
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
}
