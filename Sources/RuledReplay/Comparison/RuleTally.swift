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

  private var figures: [QualifiedName: Figures] = [:]

  mutating func add(_ rules: [Played.RuleCost], _ side: WritableKeyPath<CountOfSides, Int>) {
    for rule in rules {
      figures[QualifiedName(rule.plugin, rule.rule), default: Figures()].count(rule.instructions, side)
    }
  }

  mutating func merge(_ other: RuleTally) {
    figures.merge(other.figures) { ours, theirs in
      Figures(
        fired: ours.fired + theirs.fired, counted: ours.counted + theirs.counted,
        instructions: ours.instructions + theirs.instructions)
    }
  }

  var instructions: CountOfSides { figures.values.reduce(CountOfSides()) { $0 + $1.instructions } }

  /// The figures as the report's `rules`; `instructions` are the mean of a firing.
  var json: JSONValue {
    .array(
      figures.sorted { $0.key < $1.key }.map { name, figures in
        let mean = CountOfSides(
          before: Self.mean(figures.instructions.before, figures.counted.before),
          after: Self.mean(figures.instructions.after, figures.counted.after))
        return [
          "plugin": .string(name.plugin), "rule": .string(name.name.text), "fired": figures.fired.json,
          "instructions": mean.json,
        ]
      })
  }

  private static func mean(_ sum: Int, _ count: Int) -> Int {
    count == 0 ? 0 : Int((Double(sum) / Double(count)).rounded())
  }
}
