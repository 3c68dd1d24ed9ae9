import RuledCore
import RuledJSON
import RuledLua
package import RuledStore
import Synchronization

/// The boards of all plugins, with their durable places in order, which all workers share.
///
/// A worker that changes a place looks a board up here, and puts the change into its batch. Once that is durable, the places here change.
package final class BoardTable: Sendable {
  struct Contents {
    var boards: [String: [ExactName: Board]] = [:]
    /// The places of earlier generations, whose keys are still in the store.
    var discarded: [Discarded] = []
    /// Whether places are in memory; a replay reads them from its store.
    var holdsPlaces = false
    var unreadable: [UnreadableKeys] = []

    func mayHaveBoards(_ plugin: String) -> Bool { !holdsPlaces || boards[plugin] != nil }

    func find(_ name: String, of plugin: String) -> Board? { boards[plugin]?[ExactName(text: name)] }

    /// The board of that name, which is made if there is none.
    mutating func board(_ name: String, of plugin: String) -> Board {
      if let board = find(name, of: plugin) { return board }
      let board = Board(name, of: plugin)
      boards[plugin, default: [:]][ExactName(text: name)] = board
      return board
    }

    /// Whether the store may have a place under the key that memory does not have.
    func mayHide(_ key: ByteView) -> Bool { unreadable.contains { $0.mayContain(key) } }

    /// Removes a board's places from memory, and has `sweep` delete their keys.
    mutating func discardPlaces(of board: Board) {
      guard !board.places.isEmpty else { return }
      discarded.append(Discarded(board: board, generation: board.durable.generation, places: board.places))
      board.places = RankedPlaces()
    }
  }

  /// Places of an earlier generation of a board.
  struct Discarded {
    let board: Board
    let generation: UInt64
    var places: RankedPlaces
    /// The first id whose key is still in the store.
    var next = 0
  }

  let contents = Mutex(Contents())
  let lastNumber = Atomic<UInt64>(0)
  private let sawEnd = Atomic<Bool>(false)

  // MARK: Changes

  /// Calls `body` under the table's lock; it must not call the table.
  func withContents<Result, Thrown>(_ body: (inout Contents) throws(Thrown) -> Result) throws(Thrown) -> Result {
    try contents.withLock { (contents) throws(Thrown) in try body(&contents) }
  }

  /// Whether a change came after a board's time.
  package var hasSeenEnd: Bool { sawEnd.load(ordering: .relaxed) }

  func noteEnd() { sawEnd.store(true, ordering: .relaxed) }

  /// Gives the places in a batch their numbers; call it in the order of commits.
  package func number(_ batch: CommitBatch) {
    for change in batch.boards {
      guard let write = change.write else { continue }
      batch.writes.setEnd(ofWriteAt: write, to: lastNumber.wrappingAdd(1, ordering: .relaxed).newValue)
    }
  }

  /// Applies the changes of a batch that is durable.
  package func applyDurable(_ batch: CommitBatch) {
    guard !batch.boards.isEmpty else { return }
    contents.withLock { contents in
      for change in batch.boards { Self.apply(change, in: batch.writes, to: &contents) }
    }
  }

  private static func apply(_ change: BoardChange, in writes: WriteSet, to contents: inout Contents) {
    let board = change.board
    if change.terms.generation > board.durable.generation { contents.discardPlaces(of: board) }
    if change.terms.generation >= board.durable.generation {
      board.durable = change.terms
      if contents.holdsPlaces, let write = change.write { apply(writes.write(at: write), to: board) }
    }
    end(change)
  }

  private static func apply(_ write: WriteOperation?, to board: Board) {
    switch write {
    case .put(let key, let value):
      guard let subject = subject(of: key), let place = Place(value) else { return }
      board.places.set(subject, to: place)
    case .delete(let key): if let subject = subject(of: key) { board.places.remove(subject) }
    case .journal, nil: break
    }
  }

  private static func subject(of key: ByteView) -> ByteView? {
    key.firstIndex(of: 0).map { key.extracting(1..<$0) }
  }

  private static func end(_ change: BoardChange) {
    change.board.pending -= 1
    if change.board.pending == 0 { change.board.newest = change.board.durable }
  }

  /// Forgets changes that are not committed.
  func release(_ changes: some Collection<BoardChange>) {
    guard !changes.isEmpty else { return }
    contents.withLock { _ in
      for change in changes { Self.end(change) }
    }
  }

  /// Whether the place with that key in the store is on its board, and the board's time is not over.
  package func isOn(_ key: ParsedKey?, at now: Int64) -> Bool {
    guard case .place(_, let plugin, let name, let generation)? = key else { return false }
    return contents.withLock { contents in
      let board = contents.find(name.text, of: plugin.text)
      let terms = board?.newest ?? Board.Terms()
      return generation == terms.generation && !terms.isOver(at: now)
    }
  }

  // MARK: Queries

  /// Calls `body` with the durable places of a board; nil if there is none of that name, or its time is over.
  private func read<Result: Sendable>(
    _ name: ByteView, of plugin: String, at now: Int64, _ body: (RankedPlaces, _ leastFirst: Bool) -> Result?
  ) -> Result? {
    contents.withLock { contents in
      guard let board = contents.find(name.text, of: plugin), !board.durable.isOver(at: now)
      else { return nil }
      return body(board.places, board.durable.options.leastFirst)
    }
  }

  func count(_ name: ByteView, of plugin: String, at now: Int64) -> Int {
    read(name, of: plugin, at: now) { places, _ in places.count } ?? 0
  }

  /// The rank of a subject, from 1 on; nil when it is not on the board.
  func rank(of subject: ByteView, on name: ByteView, of plugin: String, at now: Int64) -> Int? {
    read(name, of: plugin, at: now) { places, leastFirst in places.rank(of: subject, leastFirst: leastFirst) }
  }

  /// Appends places as an array of `{subject, score, rank}`; returns early, with some of them, once `isOver` is true.
  func write(
    _ selection: BoardSelection, of name: ByteView, of plugin: String, at now: Int64, into buffer: ByteBuffer,
    until isOver: () -> Bool = { false }
  ) {
    var json = JSONWriter(buffer)
    json.beginArray()
    let _: Void? = read(name, of: plugin, at: now) { places, leastFirst in
      let first: Int, last: Int
      switch selection {
      case .top(let count, let from):
        first = min(from, places.count + 1)
        last = first + min(count, places.count) - 1
      case .around(let subject, let count):
        guard let rank = places.rank(of: subject, leastFirst: leastFirst) else { return nil }
        first = max(1, rank - min(count, places.count))
        last = rank + min(count, places.count)
      }
      places.forEach(from: first, leastFirst: leastFirst) { subject, score, rank in
        guard rank <= last, !isOver() else { return false }
        json.beginObject()
        json.member("subject", string: subject)
        json.member("score")
        json.raw(Place.json(score).write(to:))
        json.member("rank", rank)
        json.endObject()
        return true
      }
      return ()
    }
    json.endArray()
  }

  // MARK: Removing

  /// Removes from the store up to `most` places of removed boards, and if `looksForBoards`, boards whose time is over, and empty ones without options.
  package func sweep(
    _ store: any StateStore, at now: Int64, looksForBoards: Bool, most: Int = 1000
  ) throws(StoreError) {
    try withContents { (contents) throws(StoreError) in
      if looksForBoards { try Self.removeBoards(in: &contents, store, at: now) }
      guard var places = contents.discarded.first else { return }
      let writes = WriteSet(capacity: 64 << 10)
      let key = ByteBuffer(capacity: 320)
      places.next = places.places.forEachSubject(from: places.next, most: most) { subject in
        StoreKey.place(
          subject, plugin: places.board.plugin, board: places.board.name, generation: places.generation, into: key)
        writes.delete(key.bytes)
      }
      if !writes.isEmpty { try store.commit(writes, durable: false) }
      if places.next == places.places.idCount {
        contents.discarded.removeFirst()
      } else {
        contents.discarded[0] = places
      }
    }
  }

  /// Under the lock, so that no change of such a board joins a batch before the board's key is written.
  private static func removeBoards(
    in contents: inout Contents, _ store: any StateStore, at now: Int64
  ) throws(StoreError) {
    let key = ByteBuffer(capacity: 320), value = ByteBuffer(capacity: 32)
    let writes = WriteSet(capacity: 512)
    for board in contents.boards.values.flatMap(\.values) where board.pending == 0 {
      writes.removeAll()
      StoreKey.board(board.name, of: board.plugin, into: key)
      if !board.places.isEmpty, board.durable.isOver(at: now) {
        var terms = board.durable
        terms.renew(at: now)
        value.removeAll()
        terms.write(to: value)
        writes.put(key.bytes, value.bytes)
        try store.commit(writes, durable: false)
        contents.discardPlaces(of: board)
        (board.newest, board.durable) = (terms, terms)
      } else if board.places.isEmpty, board.durable.options == Board.Options() || board.durable.isOver(at: now),
        !contents.discarded.contains(where: { $0.board === board })
      {
        if !board.durable.isStored(as: Board.Terms()) {
          writes.delete(key.bytes)
          try store.commit(writes, durable: false)
        }
        contents.boards[board.plugin]?[ExactName(text: board.name)] = nil
        if contents.boards[board.plugin]?.isEmpty == true { contents.boards[board.plugin] = nil }
      }
    }
  }
}
