import RuledCore

/// The places of one board in their order, and the place of each subject: about 75 bytes a place with a name of 12 bytes.
///
/// Each subject has a small number, its id. Chunks of bounded length hold the scores with their ids in ascending order; of equal scores the later one
/// is first. So a read from the end gives the greatest score first, and of equal scores the earlier one. A hash table with open addressing finds the
/// id of a name.
struct RankedPlaces {
  private struct Entry {
    let score: Double
    let id: UInt32
  }

  private static let longestChunk = 256
  private static let leastSlots = 8

  private struct Member {
    var score: Double = 0
    var number: UInt64 = 0
    /// Where its name begins in `names`, with its length in two bytes; -1 for a removed subject.
    var start = 0
  }

  /// The subjects by their ids.
  private var members: [Member] = []
  private var names: [UInt8] = []
  /// The bytes of `names` that belong to removed subjects.
  private var unused = 0
  /// The ids of removed subjects.
  private var free: [UInt32] = []
  /// The upper half of the name's hash, then the id and 1; 0 for a free slot.
  private var slots: [UInt64] = []
  private var chunks: [[Entry]] = []
  /// The first entries of the chunks, side by side: a search misses the processor's cache less often.
  private var firsts: [Entry] = []
  /// The lengths of the chunks, side by side.
  private var counts: [Int32] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  // MARK: Subjects

  subscript(subject: ByteView) -> Place? {
    id(of: subject).map { Place(score: members[$0].score, number: members[$0].number) }
  }

  /// Gives a subject a place instead of the one that it has.
  ///
  /// - Complexity: O(log n), and moving the ids of one chunk.
  mutating func set(_ subject: ByteView, to place: Place) {
    let id = id(of: subject)
    if let id { removeFromOrder(id) }
    insert(store(place, of: subject, id))
  }

  /// Removes a subject, if it has a place.
  ///
  /// - Complexity: O(log n), and moving the ids of one chunk.
  mutating func remove(_ subject: ByteView) {
    guard let slot = slot(of: subject) else { return }
    let id = Int(truncatingIfNeeded: slots[slot] & 0xFFFF_FFFF) - 1
    removeFromOrder(id)
    empty(slot)
    free.append(UInt32(id))
    count -= 1
    unused += 2 + subject.count
    members[id].start = -1
    if unused > 4096, unused > names.count / 2 { compactNames() }
  }

  /// Adds a subject that has no place yet, out of order: `sort` must be called before anything else.
  mutating func append(_ subject: ByteView, _ place: Place) { _ = store(place, of: subject, nil) }

  mutating func sort() {
    let entries = members.indices.filter { members[$0].start >= 0 }.map { entry(of: $0) }.sorted(by: isBefore)
    let length = Self.longestChunk / 4 * 3
    chunks = stride(from: 0, to: entries.count, by: length).map { Array(entries[$0..<min($0 + length, entries.count)]) }
    firsts = chunks.map { $0[0] }
    counts = chunks.map { Int32($0.count) }
  }

  /// How many ids there are, those of removed subjects included.
  var idCount: Int { members.count }

  /// Calls `body` with the subjects of at most `most` ids from `first` on; returns the id after them.
  func forEachSubject(from first: Int, most: Int, _ body: (ByteView) -> Void) -> Int {
    let end = min(members.count, first + most)
    for id in first..<end where members[id].start >= 0 { withName(of: id, body) }
    return end
  }

  // MARK: Ranks

  /// The rank of a subject, from 1 on, with the greatest score first, or the least.
  ///
  /// - Complexity: O(log n), and adding up the lengths of the chunks, which are some thousands for a million places.
  func rank(of subject: ByteView, leastFirst: Bool) -> Int? {
    guard let id = id(of: subject) else { return nil }
    let entry = entry(of: id)
    return mirrored(index { !isBefore($0, entry) }, leastFirst) + 1
  }

  /// Calls `body` with the places from a rank on, in order, until it returns false.
  ///
  /// - Complexity: O(log n) for each.
  func forEach(from rank: Int, leastFirst: Bool, _ body: (_ subject: ByteView, _ score: Double, _ rank: Int) -> Bool) {
    guard rank <= count else { return }
    var (chunk, entry) = place(at: count - rank)
    for rank in rank...count {
      let id = leastFirst ? id(at: mirrored(rank - 1, true)) : Int(chunks[chunk][entry].id)
      guard withName(of: id, { body($0, members[id].score, rank) }) else { return }
      if entry > 0 {
        entry -= 1
      } else if chunk > 0 {
        chunk -= 1
        entry = chunks[chunk].count - 1
      }
    }
  }

  /// The index in the order for an index by rank, or the other way round.
  ///
  /// With the least score first, only runs of equal scores are reversed.
  private func mirrored(_ index: Int, _ leastFirst: Bool) -> Int {
    guard leastFirst else { return count - 1 - index }
    let score = members[id(at: index)].score
    let first = self.index { $0.score >= score }, end = self.index { $0.score > score }
    return first + end - 1 - index
  }

  // MARK: The order

  private func entry(of id: Int) -> Entry { Entry(score: members[id].score, id: UInt32(id)) }

  private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    left.score != right.score ? left.score < right.score : members[Int(left.id)].number > members[Int(right.id)].number
  }

  /// The position of the first entry for which `isAtEnd` is true, as for all later ones; past the last entry, its chunk is the last one.
  private func position(_ isAtEnd: (Entry) -> Bool) -> (chunk: Int, entry: Int) {
    let chunk = max(firsts.partitioningIndex(where: isAtEnd) - 1, 0)
    guard chunk < chunks.count else { return (0, 0) }
    return (chunk, chunks[chunk].partitioningIndex(where: isAtEnd))
  }

  private func index(_ isAtEnd: (Entry) -> Bool) -> Int {
    let (chunk, entry) = position(isAtEnd)
    if chunk < counts.count / 2 { return Int(counts[..<chunk].reduce(0, &+)) + entry }
    return count - Int(counts[chunk...].reduce(0, &+)) + entry
  }

  private func id(at index: Int) -> Int {
    let (chunk, entry) = place(at: index)
    return Int(chunks[chunk][entry].id)
  }

  /// The chunk of an index, and the index in it; looked for from the nearer end.
  private func place(at index: Int) -> (chunk: Int, entry: Int) {
    if index < count / 2 {
      var left = index, chunk = 0
      while left >= Int(counts[chunk]) {
        left -= Int(counts[chunk])
        chunk += 1
      }
      return (chunk, left)
    }
    var left = count - index, chunk = counts.count - 1
    while left > Int(counts[chunk]) {
      left -= Int(counts[chunk])
      chunk -= 1
    }
    return (chunk, Int(counts[chunk]) - left)
  }

  private mutating func insert(_ id: Int) {
    let entry = entry(of: id)
    guard !chunks.isEmpty else {
      (chunks, firsts, counts) = ([[entry]], [entry], [1])
      return
    }
    let (chunk, index) = position { !isBefore($0, entry) }
    chunks[chunk].insert(entry, at: index)
    note(chunk)
    guard chunks[chunk].count > Self.longestChunk else { return }
    let half = Array(chunks[chunk][(Self.longestChunk / 2)...])
    chunks[chunk].removeSubrange((Self.longestChunk / 2)...)
    note(chunk)
    chunks.insert(half, at: chunk + 1)
    firsts.insert(half[0], at: chunk + 1)
    counts.insert(Int32(half.count), at: chunk + 1)
  }

  private mutating func removeFromOrder(_ id: Int) {
    let entry = entry(of: id)
    var (chunk, index) = position { !isBefore($0, entry) }
    if index == chunks[chunk].count { (chunk, index) = (chunk + 1, 0) }
    chunks[chunk].remove(at: index)
    guard chunks[chunk].isEmpty else { return note(chunk) }
    chunks.remove(at: chunk)
    firsts.remove(at: chunk)
    counts.remove(at: chunk)
  }

  /// Notes the length and the first entry of a chunk that changed.
  private mutating func note(_ chunk: Int) {
    firsts[chunk] = chunks[chunk][0]
    counts[chunk] = Int32(chunks[chunk].count)
  }

  // MARK: Ids

  /// Keeps a place under the subject's id, or under a new one.
  private mutating func store(_ place: Place, of subject: ByteView, _ known: Int?) -> Int {
    let id = known ?? add(subject)
    members[id].score = place.score
    members[id].number = place.number
    return id
  }

  private mutating func add(_ subject: ByteView) -> Int {
    if (count + 1) * 4 > slots.count * 3 { growSlots() }
    let id = Int(free.popLast() ?? UInt32(members.count))
    if id == members.count { members.append(Member()) }
    members[id].start = names.count
    names.append(UInt8(truncatingIfNeeded: subject.count))
    names.append(UInt8(truncatingIfNeeded: subject.count >> 8))
    names.append(contentsOf: subject)
    put(hash64(subject) & ~0xFFFF_FFFF | UInt64(id + 1))
    count += 1
    return id
  }

  @discardableResult
  private func withName<Result>(of id: Int, _ body: (ByteView) -> Result) -> Result {
    names.withUnsafeBytes { bytes in
      let start = members[id].start
      let length = Int(bytes[start]) | Int(bytes[start + 1]) << 8
      return body(ByteView(UnsafeRawBufferPointer(rebasing: bytes[(start + 2)..<(start + 2 + length)])))
    }
  }

  private mutating func compactNames() {
    var kept: [UInt8] = []
    kept.reserveCapacity(names.count - unused)
    for id in members.indices where members[id].start >= 0 {
      let start = members[id].start
      let length = Int(names[start]) | Int(names[start + 1]) << 8
      members[id].start = kept.count
      kept.append(contentsOf: names[start..<(start + 2 + length)])
    }
    names = kept
    unused = 0
  }

  // MARK: The hash table

  private func id(of subject: ByteView) -> Int? {
    slot(of: subject).map { Int(truncatingIfNeeded: slots[$0] & 0xFFFF_FFFF) - 1 }
  }

  private func slot(of subject: ByteView) -> Int? {
    guard !slots.isEmpty else { return nil }
    let hash = hash64(subject) & ~0xFFFF_FFFF
    var slot = home(hash)
    while slots[slot] != 0 {
      if slots[slot] & ~0xFFFF_FFFF == hash {
        let id = Int(truncatingIfNeeded: slots[slot] & 0xFFFF_FFFF) - 1
        if withName(of: id, { ByteOrder.equal($0, subject) }) { return slot }
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  private func home(_ entry: UInt64) -> Int { Int(truncatingIfNeeded: entry >> 32) & (slots.count - 1) }

  private mutating func put(_ entry: UInt64) {
    var slot = home(entry)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = entry
  }

  private mutating func growSlots() {
    let old = slots
    slots = Array(repeating: 0, count: max(Self.leastSlots, old.count * 2))
    for entry in old where entry != 0 { put(entry) }
  }

  /// Empties a slot, and moves up the following entries that a search would no longer find.
  private mutating func empty(_ slot: Int) {
    var freed = slot
    var next = (slot + 1) & (slots.count - 1)
    while slots[next] != 0 {
      if (next - home(slots[next])) & (slots.count - 1) >= (next - freed) & (slots.count - 1) {
        slots[freed] = slots[next]
        freed = next
      }
      next = (next + 1) & (slots.count - 1)
    }
    slots[freed] = 0
  }
}
