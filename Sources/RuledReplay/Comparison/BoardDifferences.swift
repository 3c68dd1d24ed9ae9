import RuledCore
import RuledEngine
import RuledStore

/// How many subjects have the same score on a board on both sides, and how many have not.
struct BoardDifferences: Sendable {
  private var counts: [QualifiedName: (equal: Int, changed: Int)] = [:]

  init() {}

  init(_ baseline: any StateStore, _ candidate: any StateStore) throws(StoreError) {
    var found: [QualifiedName: (equal: Int, changed: Int)] = [:]
    try forEachPair(of: .place, baseline, Self.reader(of: baseline), candidate, Self.reader(of: candidate)) {
      (before: Place?, after: Place?) in
      guard let name = (before ?? after)?.name else { return }
      found[name, default: (0, 0)].equal += before == after ? 1 : 0
      found[name, default: (0, 0)].changed += before == after ? 0 : 1
    }
    counts = found
  }

  /// `[{plugin, name, equal, changed}]`, in the order of the names.
  var json: JSONValue {
    .array(
      counts.sorted { $0.key < $1.key }.map { name, count in
        [
          "plugin": .string(name.plugin), "name": .string(name.name.text), "equal": .integer(Int64(count.equal)),
          "changed": .integer(Int64(count.changed)),
        ]
      })
  }

  // MARK: Reading

  private struct Place: ComparedEntry {
    /// The key without the generation.
    let key: [UInt8]
    let name: QualifiedName
    let score: Double
  }

  /// Reads the places of a side, without those of earlier generations.
  private static func reader(of store: any StateStore) throws(StoreError) -> StoredSide<Place>.Reader {
    let generations: [QualifiedName: UInt64] = try BoardTable.generations(in: store).reduce(into: [:]) { all, board in
      all[QualifiedName(board.plugin, board.name)] = board.generation
    }
    return { key, value in
      guard case .place(_, let plugin, let board, let generation)? = try? ParsedKey(key),
        let score = RuledEngine.Place(value)?.score
      else { return nil }
      let name = QualifiedName(plugin.text, board.text)
      guard generation == generations[name] ?? 0 else { return nil }
      return Place(key: Array(key.dropLast(8)), name: name, score: score)
    }
  }
}
