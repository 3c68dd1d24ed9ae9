/// Elements in the order of their keys, in sorted chunks of bounded length: an insertion moves little, and a copy shares all chunks that are not changed
/// afterwards.
///
/// Elements don't tell their keys themselves: a search gets a function that compares an element's key with the wanted one, below zero when it is less.
struct SortedChunks<Element> {
  /// The position of an element, or the end.
  struct Position {
    /// The index of the chunk; the number of chunks at the end.
    var chunk = 0
    /// The index in the chunk.
    var entry = 0
  }

  private var chunks: [[Element]] = []
  private let longestChunk: Int

  /// Empty; splits each chunk that gets longer than `longestChunk`.
  init(longestChunk: Int) { self.longestChunk = longestChunk }

  init(sorted elements: [Element], longestChunk: Int) {
    self.longestChunk = longestChunk
    chunks = elements.isEmpty ? [] : [elements]
  }

  /// The element at `position`; nil at the end.
  subscript(position: Position) -> Element? {
    position.chunk < chunks.count ? chunks[position.chunk][position.entry] : nil
  }

  /// The position of the first element whose key is at or above the wanted one.
  ///
  /// - Complexity: O(log n)
  @inline(__always)
  func find(_ compare: (Element) -> Int) -> Position {
    let position = locate(compare).position
    guard position.chunk < chunks.count, position.entry == chunks[position.chunk].count else { return position }
    return Position(chunk: position.chunk + 1, entry: 0)
  }

  /// The position behind `position`, which is not the end.
  func position(after position: Position) -> Position {
    let next = Position(chunk: position.chunk, entry: position.entry + 1)
    return next.entry < chunks[next.chunk].count ? next : Position(chunk: next.chunk + 1, entry: 0)
  }

  /// Calls `replace` with the element of that key, or inserts the result of `make` when there is none.
  ///
  /// - Complexity: O(log n), and moving the elements of one chunk
  @inline(__always)
  mutating func set(_ compare: (Element) -> Int, replace: (inout Element) -> Void, make: () -> Element) {
    let (position, isFound) = locate(compare)
    if isFound { replace(&chunks[position.chunk][position.entry]) } else { insert(make(), at: position) }
  }

  mutating func remove(_ compare: (Element) -> Int) {
    let (position, isFound) = locate(compare)
    guard isFound else { return }
    chunks[position.chunk].remove(at: position.entry)
    if chunks[position.chunk].isEmpty { chunks.remove(at: position.chunk) }
  }

  private mutating func insert(_ element: Element, at position: Position) {
    guard position.chunk < chunks.count else {
      chunks.append([element])
      return
    }
    chunks[position.chunk].insert(element, at: position.entry)
    guard chunks[position.chunk].count > longestChunk else { return }
    let half = Array(chunks[position.chunk][(longestChunk / 2)...])
    chunks[position.chunk].removeSubrange((longestChunk / 2)...)
    chunks.insert(half, at: position.chunk + 1)
  }

  /// The key's position, or the place to insert it: behind the last element of a chunk rather than before the first of the next one.
  @inline(__always)
  private func locate(_ compare: (Element) -> Int) -> (position: Position, isFound: Bool) {
    guard !chunks.isEmpty else { return (Position(), false) }
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if compare(chunks[middle][0]) <= 0 { low = middle + 1 } else { high = middle }
    }
    let chunk = max(low - 1, 0)
    low = 0
    high = chunks[chunk].count
    while low < high {
      let middle = (low + high) / 2
      let order = compare(chunks[chunk][middle])
      if order == 0 { return (Position(chunk: chunk, entry: middle), true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (Position(chunk: chunk, entry: low), false)
  }
}

extension SortedChunks: Sendable where Element: Sendable {}
