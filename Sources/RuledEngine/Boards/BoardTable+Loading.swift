import RuledCore
package import RuledStore
import Synchronization

extension BoardTable {
  /// Reads the boards from the store, and their places except in a replay.
  ///
  /// Damaged keys are noted in the damage report. A subject's place that can't be read is read again with its next change, which then fails.
  package func load(from context: EngineContext, holdingPlaces: Bool = true) throws(StoreError) {
    var contents = Contents()
    contents.holdsPlaces = holdingPlaces
    try context.scan(prefix: StoreKey.prefix(.board), of: .board) { key, value in
      guard case .board(let plugin, let name)? = try? ParsedKey(key), let terms = Board.Terms(value) else {
        context.noteDamage(key, StoreError(.corrupt, "a board has another form"), malformed: true)
        return true
      }
      let board = contents.board(name.text, of: plugin.text)
      (board.newest, board.durable) = (terms, terms)
      return true
    }
    if holdingPlaces { try loadPlaces(into: &contents, context) }
    self.contents.withLock { [contents] in $0 = contents }
  }

  /// The generations of the boards with a key of their own in a store.
  package static func generations(
    in store: any StateStore
  ) throws(StoreError) -> [(plugin: String, name: String, generation: UInt64)] {
    var found: [(plugin: String, name: String, generation: UInt64)] = []
    try store.scan(prefix: StoreKey.prefix(.board)) { key, value in
      if case .board(let plugin, let name)? = try? ParsedKey(key), let terms = Board.Terms(value) {
        found.append((plugin.text, name.text, terms.generation))
      }
      return true
    }
    return found
  }

  private func loadPlaces(into contents: inout Contents, _ context: EngineContext) throws(StoreError) {
    var last: UInt64 = 0
    var unreadable: [UnreadableKeys] = []
    try context.scan(prefix: StoreKey.prefix(.place), of: .place, passing: { unreadable.append($0) }) { key, value in
      guard case .place(let subject, let plugin, let name, let generation)? = try? ParsedKey(key),
        let place = Place(value)
      else {
        context.noteDamage(key, StoreError(.corrupt, "a place on a board has another form"), malformed: true)
        return true
      }
      let board = contents.board(name.text, of: plugin.text)
      last = max(last, place.number)
      if generation > board.durable.generation {
        contents.discardPlaces(of: board)
        board.durable.generation = generation
        board.newest = board.durable
      }
      if generation == board.durable.generation {
        board.places.append(subject, place)
      } else {
        contents.discard(subject, place, generation, of: board)
      }
      return true
    }
    for boards in contents.boards.values { for board in boards.values { board.places.sort() } }
    contents.unreadable = unreadable
    lastNumber.store(last, ordering: .relaxed)
  }
}

extension BoardTable.Contents {
  /// Adds a place of an earlier generation, which is to be deleted from the store.
  fileprivate mutating func discard(_ subject: ByteView, _ place: Place, _ generation: UInt64, of board: Board) {
    let known = discarded.firstIndex { $0.board === board && $0.generation == generation }
    if let known { return discarded[known].places.append(subject, place) }
    var places = RankedPlaces()
    places.append(subject, place)
    discarded.append(BoardTable.Discarded(board: board, generation: generation, places: places))
  }
}
