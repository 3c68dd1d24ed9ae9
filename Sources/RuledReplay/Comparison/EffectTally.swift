import RuledCore
import RuledJSON

/// Counts the effects of both sides by plugin, sink and type.
struct EffectTally {
  /// How many names are told apart; all further ones count as `…`.
  private static let mostNames = 4096

  private var counts: [QualifiedName: CountOfSides] = [:]
  private let document = TapeDocument()

  /// Counts the effects of an event, each side's the elements of an array; nil where the event did not happen.
  mutating func add(before: [UInt8]?, after: [UInt8]?) {
    if let before, !before.isEmpty { add(before, \.before) }
    if let after, !after.isEmpty { add(after, \.after) }
  }

  private mutating func add(_ effects: [UInt8], _ side: WritableKeyPath<CountOfSides, Int>) {
    let text = ByteBuffer(capacity: effects.count + 2)
    text.append("[" as StaticString)
    effects.withView { text.append($0) }
    text.append("]" as StaticString)
    guard let list = try? document.parse(copyOf: text.bytes) else { return }
    for effect in list.children {
      func word(_ member: StaticString) -> String { effect.member(member)?.text ?? "" }
      var name = QualifiedName(word("plugin"), word("sink"), word("type"))
      if counts[name] == nil, counts.count >= Self.mostNames { name = .others }
      counts[name, default: CountOfSides()][keyPath: side] += 1
    }
  }

  mutating func merge(_ other: EffectTally) { counts.merge(other.counts) { $0 + $1 } }

  var total: CountOfSides { counts.values.reduce(CountOfSides(), +) }

  /// The counts as the report's `effects`.
  var json: JSONValue {
    .array(
      counts.sorted { $0.key < $1.key }.map { name, count in
        [
          "plugin": .string(name.plugin), "sink": .string(name.name.text), "type": .string(name.detail.text),
          "before": .integer(Int64(count.before)), "after": .integer(Int64(count.after)),
        ]
      })
  }
}
