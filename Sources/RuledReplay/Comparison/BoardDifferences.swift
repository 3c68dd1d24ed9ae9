import RuledCore
import RuledEngine
import RuledStore

/// How many subjects have the same score on a board on both sides, and how many have not.
struct BoardDifferences: Sendable {
  private var counts: [QualifiedName: (equal: Int, changed: Int)] = [:]

  init() {}

  init(_ baseline: any StateStore, _ candidate: any StateStore) throws(StoreError) {
    let end = StoreKey.upperBound(StoreKey.prefix(.place)) ?? []
    var found: [QualifiedName: (equal: Int, changed: Int)] = [:]
    try end.withView { (upper) throws(StoreError) in
      try baseline.withCursor(below: upper) { (left) throws(StoreError) in
        try candidate.withCursor(below: upper) { (right) throws(StoreError) in
          let one = try Side(left, of: baseline), other = try Side(right, of: candidate)
          while let place = Self.first(one.place, other.place) {
            let isEqual = one.place?.key == other.place?.key && one.place?.score == other.place?.score
            found[place.name, default: (0, 0)].equal += isEqual ? 1 : 0
            found[place.name, default: (0, 0)].changed += isEqual ? 0 : 1
            for side in [one, other] where side.place?.key == place.key { try side.advance() }
          }
        }
      }
    }
    counts = found
  }

  /// The one of two places whose key is first.
  private static func first(_ left: Place?, _ right: Place?) -> Place? {
    guard let left, let right else { return left ?? right }
    return right.key.lexicographicallyPrecedes(left.key) ? right : left
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

  private struct Place {
    /// The key without the generation.
    let key: [UInt8]
    let name: QualifiedName
    let score: Double
  }

  /// The places of a side, in the order of their keys, without those of earlier generations.
  private final class Side {
    private(set) var place: Place?
    private let cursor: any StoreCursor
    /// The generations of the boards with a key of their own.
    private let generations: [QualifiedName: UInt64]

    init(_ cursor: any StoreCursor, of store: any StateStore) throws(StoreError) {
      self.cursor = cursor
      generations = try BoardTable.generations(in: store).reduce(into: [:]) { all, board in
        all[QualifiedName(board.plugin, board.name)] = board.generation
      }
      var isAtPlace = try StoreKey.prefix(.place).withView { (prefix) throws(StoreError) in try cursor.seek(to: prefix)
      }
      while isAtPlace, !read() { isAtPlace = try cursor.next() }
    }

    func advance() throws(StoreError) {
      place = nil
      while try cursor.next() { if read() { return } }
    }

    /// Reads the place at the cursor; false if it is not on its board any more.
    private func read() -> Bool {
      guard case .place(_, let plugin, let board, let generation)? = try? ParsedKey(cursor.key),
        let score = RuledEngine.Place(cursor.value)?.score
      else { return false }
      let name = QualifiedName(plugin.text, board.text)
      guard generation == generations[name] ?? 0 else { return false }
      place = Place(key: Array(cursor.key.dropLast(8)), name: name, score: score)
      return true
    }
  }
}
