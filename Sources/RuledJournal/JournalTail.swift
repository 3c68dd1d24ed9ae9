import RuledCore
package import RuledStore

/// The last entries of a journal in a file beside a copy of its store: a journal that begins with the copy takes them, so that watches can go on there.
///
/// The file has the format of the journal's own.
enum JournalTail {
  /// Its name in the folder of the copy.
  static let name = "journal-tail.rj"
}

extension LiveJournal {
  /// Writes the last entries up to the sequence `last` into the folder of a copy, as many as watches can go on from; none if there are none.
  package func writeTail(to folder: String, through last: UInt64, count: Int, byteCount: Int) throws(StoreError) {
    let start = try firstChange(through: last, count: count, byteCount: byteCount)
    guard start <= last else { return }
    var next = start
    let path = "\(folder)/\(JournalTail.name)"
    let writer = try JournalFileWriter(creating: path, journal.files)
    let builder = BlockBuilder(level: journal.level)
    let block = ByteBuffer(capacity: 256 << 10)
    var problem: StoreError?
    func writeBlock() throws(StoreError) {
      block.removeAll()
      let header = builder.finish(into: block)
      try writer.append(block.bytes, header)
    }
    var range = JournalRange()
    (range.first, range.last) = (next, last)
    try forEachView(in: range) { view in
      if builder.isEmpty { builder.cover(next) }
      builder.add(view)
      next = view.sequence + 1
      do throws(StoreError) { if builder.isFull { try writeBlock() } } catch { problem = error }
      return problem == nil
    }
    if let problem { throw problem }
    // The next attempt begins behind the damage that this one has found.
    guard isReadable(from: start, through: last) else {
      return try writeTail(to: folder, through: last, count: count, byteCount: byteCount)
    }
    if builder.isEmpty { builder.cover(min(next, last)) }
    builder.cover(last)
    try writeBlock()
    try writer.finish()
  }
}

extension Journal {
  /// Takes the entries after its own from the tail beside a copy of another store, which has taken the place of the store in the folder `store`.
  ///
  /// To be called before the store is opened.
  package func takeTail(of store: String) {
    let path = "\(store)/\(JournalTail.name)"
    guard files.exists(path) else { return }
    take(entriesOf: path)
    try? files.remove(path)
  }
}
