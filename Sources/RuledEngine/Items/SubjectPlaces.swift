import RuledCore
import RuledLua
import RuledStore

/// The places that plugins gave subjects on boards.
///
/// The worker that owns a subject writes its places, and needs no other places of a board.
final class SubjectPlaces {
  private let context: EngineContext
  private let batches: BatchQueue
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 32)
  private let boardKey = ByteBuffer(capacity: 320)

  init(_ context: EngineContext, batches: BatchQueue) {
    self.context = context
    self.batches = batches
  }

  /// Adds a rule's change of the subject's place on a board to the batch.
  ///
  /// A score that stays the same keeps its place. `options` are those of the board from now on; nil leaves them as they are.
  func write(
    _ placing: Operation.Placing, on name: ByteView, _ options: Board.Options?, of plugin: String, subject: Subject,
    now: Int64
  ) throws(RequestError) {
    try context.boards.withContents { (contents) throws(RequestError) in
      let board = contents.board(name.text, of: plugin)
      var terms = board.newest
      if terms.isOver(at: now) {
        terms.renew(at: now)
        context.boards.noteEnd()
      }
      writeKey(of: board, terms, subject)
      let present = try score(on: board, terms, subject, contents)
      let score = Self.score(placing, after: present)
      if let options { terms.options = options }
      if score == present {
        guard present != nil, terms.options != board.newest.options else { return }
        terms.changed = now
        return note(terms, of: board, write: nil)
      }
      terms.changed = now
      put(score, on: board, terms, subject)
    }
  }

  private static func score(_ placing: Operation.Placing, after present: Double?) -> Double? {
    let score: Double
    switch placing {
    case .set(let number): score = number
    case .add(let number): score = (present ?? 0) + number
    case .leave: return nil
    }
    return score == 0 ? 0 : score  // -0 is 0
  }

  /// Puts a score under `key`, or deletes it without one.
  private func put(_ score: Double?, on board: Board, _ terms: Board.Terms, _ subject: Subject) {
    let writes = batches.current.writes
    let start = writes.byteCount
    if let score {
      value.removeAll()
      Place(score: score, number: .max).write(to: value)
      writes.put(key.bytes, value.bytes)
    } else {
      writes.delete(key.bytes)
    }
    note(terms, of: board, write: start)
    subject.lastCommit = batches.current.number
  }

  /// Adds the change to the batch, and the board's own key if it has to say something new.
  private func note(_ terms: Board.Terms, of board: Board, write: Int?) {
    if !terms.isStored(as: board.durable) || !board.newest.isStored(as: board.durable) {
      value.removeAll()
      StoreKey.board(board.name, of: board.plugin, into: boardKey)
      terms.write(to: value)
      batches.current.writes.put(boardKey.bytes, value.bytes)
    }
    board.newest = terms
    board.pending += 1
    batches.current.boards.append(BoardChange(board: board, terms: terms, write: write))
  }

  // MARK: Reading

  func score(on name: ByteView, of plugin: String, subject: Subject, now: Int64) throws(RequestError) -> Double? {
    try context.boards.withContents { (contents) throws(RequestError) in
      let board = contents.board(name.text, of: plugin)
      guard !board.newest.isOver(at: now) else { return nil }
      writeKey(of: board, board.newest, subject)
      return try score(on: board, board.newest, subject, contents)
    }
  }

  /// The score under `key`: in the batches that are not durable, or else in memory.
  private func score(
    on board: Board, _ terms: Board.Terms, _ subject: Subject, _ contents: BoardTable.Contents
  ) throws(RequestError) -> Double? {
    switch batches.lookup(key.bytes, of: subject) {
    case .deleted: return nil
    case .value(let bytes): return Place(bytes)?.score
    case .absent: break
    }
    if contents.holdsPlaces, !contents.mayHide(key.bytes) {
      return terms.generation == board.durable.generation ? board.places[subject.name]?.score : nil
    }
    return try batches.readCommitted(key.bytes, of: subject.name, into: value) ? Place(value.bytes)?.score : nil
  }

  /// The places of a subject on boards whose time is not over: plugin, board and score.
  func all(of subject: Subject, now: Int64) throws(RequestError) -> [(plugin: String, board: String, score: Double)] {
    try batches.readAll(.place, of: subject.name).compactMap { entry in
      entry.read { key, value in
        guard case .place(_, let plugin, let board, _)? = key, context.boards.isOn(key, at: now),
          let place = Place(value)
        else { return nil }
        return (plugin.text, board.text, place.score)
      }
    }
  }

  // MARK: Copying

  /// Adds the subject's places to `kept`, each behind the terms of its board.
  func copy(of subject: Subject, now: Int64, into kept: WriteSet) throws(RequestError) {
    let places = try batches.readAll(.place, of: subject.name)
    context.boards.withContents { contents in
      for place in places {
        place.read { key, score in
          guard case .place(_, let plugin, let name, let generation)? = key else { return }
          let board = contents.board(name.text, of: plugin.text)
          guard generation == board.newest.generation, !board.newest.isOver(at: now) else { return }
          value.removeAll()
          StoreKey.board(board.name, of: board.plugin, into: boardKey)
          board.newest.write(to: value)
          kept.put(boardKey.bytes, value.bytes)
          place.key.withView { kept.put($0, score) }
        }
      }
    }
  }

  /// Gives the subject a place, and its board the terms that it had, in the generation that it has here.
  func give(_ place: Place, on name: ByteView, of plugin: ByteView, _ terms: Board.Terms, _ subject: Subject) {
    context.boards.withContents { contents in
      let board = contents.board(name.text, of: plugin.text)
      var terms = terms
      terms.generation = board.newest.generation
      writeKey(of: board, terms, subject)
      put(place.score, on: board, terms, subject)
    }
  }

  // MARK: Removing

  func removeAll(of plugin: String, subject: Subject, now: Int64) throws(RequestError) {
    guard context.boards.withContents({ $0.mayHaveBoards(plugin) }) else { return }
    remove(try batches.readAll(.place, of: subject.name, plugin: plugin).map(\.key), of: subject, now: now)
  }

  /// Takes the subject off the boards of these keys of its places.
  func remove(_ keys: [[UInt8]], of subject: Subject, now: Int64) {
    guard !keys.isEmpty else { return }
    context.boards.withContents { contents in
      for entry in keys {
        entry.withView { entry in
          guard case .place(_, let plugin, let name, let generation)? = try? ParsedKey(entry) else { return }
          let board = contents.board(name.text, of: plugin.text)
          var terms = board.newest
          guard generation == terms.generation else { return batches.current.writes.delete(entry) }
          if !terms.isOver(at: now) { terms.changed = now }
          key.removeAll()
          key.append(entry)
          put(nil, on: board, terms, subject)
        }
      }
    }
    subject.lastCommit = batches.current.number
  }

  private func writeKey(of board: Board, _ terms: Board.Terms, _ subject: Subject) {
    StoreKey.place(subject.name, plugin: board.plugin, board: board.name, generation: terms.generation, into: key)
  }
}
