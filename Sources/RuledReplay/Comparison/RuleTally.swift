import RuledCore

/// Counts how often each rule fired on both sides, and how many instructions it took.
struct RuleTally: Sendable {
  private struct Figures: Sendable {
    var fired = CountOfSides()
    /// How often it fired with its instructions counted.
    var counted = CountOfSides()
    var instructions = CountOfSides()

    mutating func count(_ instructions: Int?, _ side: WritableKeyPath<CountOfSides, Int>) {
      fired[keyPath: side] += 1
      guard let instructions else { return }
      counted[keyPath: side] += 1
      self.instructions[keyPath: side] += instructions
    }
  }

  private var figures: [String: [String: Figures]] = [:]

  mutating func add(_ rules: [Played.RuleCost], _ side: WritableKeyPath<CountOfSides, Int>) {
    for rule in rules {
      figures[rule.plugin, default: [:]][rule.rule, default: Figures()].count(rule.instructions, side)
    }
  }

  mutating func merge(_ other: RuleTally) {
    for (plugin, rules) in other.figures {
      for (rule, theirs) in rules {
        let ours = figures[plugin]?[rule] ?? Figures()
        figures[plugin, default: [:]][rule] = Figures(
          fired: ours.fired + theirs.fired, counted: ours.counted + theirs.counted,
          instructions: ours.instructions + theirs.instructions)
      }
    }
  }

  var instructions: CountOfSides {
    figures.values.flatMap(\.values).reduce(CountOfSides()) { $0 + $1.instructions }
  }

  /// The figures as the report's `rules`; `instructions` are the mean of a firing.
  var json: JSONValue {
    var list: [JSONValue] = []
    for (plugin, rules) in figures.sorted(by: { $0.key < $1.key }) {
      for (rule, figures) in rules.sorted(by: { $0.key < $1.key }) {
        let mean = CountOfSides(
          before: Self.mean(figures.instructions.before, figures.counted.before),
          after: Self.mean(figures.instructions.after, figures.counted.after))
        list.append([
          "plugin": .string(plugin), "rule": .string(rule), "fired": figures.fired.json, "instructions": mean.json,
        ])
      }
    }
    return .array(list)
  }

  private static func mean(_ sum: Int, _ count: Int) -> Int {
    count == 0 ? 0 : Int((Double(sum) / Double(count)).rounded())
  }
}
