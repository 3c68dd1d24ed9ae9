import RuledCore
import RuledStore

/// How many subjects are members of a topic on both sides, and how many on one side only; and how often it was published to.
struct TopicDifferences: Sendable {
  /// How many topics are told apart; all further ones count as `…`.
  private static let mostTopics = 16_384
  /// How many members of one side only are named for each topic.
  private static let mostExamples = 3

  private struct Figures: Sendable {
    var equal = 0
    var changed = 0
    var publications = CountOfSides()
    var examples: [(subject: String, isNew: Bool)] = []
  }

  private var topics: [QualifiedName: Figures] = [:]
  private var hasMembers = false

  /// Counts publications on one side.
  mutating func add(_ publications: [QualifiedName], _ side: WritableKeyPath<CountOfSides, Int>) {
    for topic in publications { topics[known(topic), default: Figures()].publications[keyPath: side] += 1 }
  }

  /// Adds the publications of other subjects.
  mutating func merge(_ other: TopicDifferences) {
    for (topic, figures) in other.topics {
      let topic = known(topic)
      topics[topic, default: Figures()].publications = (topics[topic]?.publications ?? .init()) + figures.publications
    }
  }

  private func known(_ topic: QualifiedName) -> QualifiedName {
    topics.count < Self.mostTopics || topics[topic] != nil ? topic : .others
  }

  /// Compares the members, once all is played.
  mutating func addMembers(_ baseline: any StateStore, _ candidate: any StateStore) throws(StoreError) {
    hasMembers = true
    try forEachPair(of: .member, baseline, Member.init, candidate, Member.init) { before, after in
      guard let member = before ?? after else { return }
      member.key.withView { key in
        guard case .member(let plugin, let topic, let subject)? = try? ParsedKey(key) else { return }
        let name = known(QualifiedName(plugin.text, topic.text))
        if before == after { return topics[name, default: Figures()].equal += 1 }
        topics[name, default: Figures()].changed += 1
        if topics[name]?.examples.count ?? 0 < Self.mostExamples {
          topics[name]?.examples.append((subject.text, isNew: before == nil))
        }
      }
    }
  }

  /// A membership, without the number that it has in its store.
  private struct Member: ComparedEntry {
    let key: [UInt8]

    init(_ key: ByteView, _ value: ByteView) { self.key = Array(key) }
  }

  /// `[{plugin, name, equal, changed, publications, examples}]`, in the order of the names; empty unless all was played.
  var json: JSONValue {
    guard hasMembers else { return [] }
    return .array(
      topics.sorted { $0.key < $1.key }.map { name, figures in
        let examples = figures.examples.map { subject, isNew -> JSONValue in
          ["kind": isNew ? "new" : "gone", "subject": .string(subject)]
        }
        return [
          "plugin": .string(name.plugin), "name": .string(name.name.text), "equal": .integer(Int64(figures.equal)),
          "changed": .integer(Int64(figures.changed)), "publications": figures.publications.json,
          "examples": .array(examples),
        ]
      })
  }
}
