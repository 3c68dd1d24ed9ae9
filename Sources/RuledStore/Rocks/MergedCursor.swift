import RuledCore

/// A cursor over the log's writes and the database's files together, as they are at its first seek.
final class MergedCursor: StoreCursor {
  /// One segment's writes, and how far the cursor has come in them.
  private struct Source {
    let segment: Segment
    let writes: OrderedWrites
    var position = OrderedWrites.Position()

    var key: ByteView? { writes[position].map { SegmentWrite.key(at: $0, in: segment.base) } }
  }

  private let begin: (KeyScope?) -> (log: [(segment: Segment, writes: OrderedWrites)], files: RocksCursor)
  private let upper: ByteView?
  private var scope: KeyScope?
  private var sources: [Source] = []
  private var files: RocksCursor?
  private var filesHaveKey = false
  private var current: ByteView?
  private var currentValue: ByteView?

  /// Only the files can be damaged; keys of such a range in the log are found.
  var skipping: ((UnreadableKeys) -> Void)?

  /// A cursor over the keys below `upper`, whose bytes must stay as long as the cursor; `begin` returns the log's writes of a scope and a cursor over
  /// the files, both of one moment.
  init(
    below upper: ByteView?,
    _ begin: @escaping (KeyScope?) -> (log: [(segment: Segment, writes: OrderedWrites)], files: RocksCursor)
  ) {
    self.upper = upper
    self.begin = begin
  }

  var key: ByteView { current ?? ByteView.empty }

  var value: ByteView { currentValue ?? files?.value ?? ByteView.empty }

  func seek(to key: ByteView) throws(StoreError) -> Bool {
    let wanted = KeyScope(from: key, to: upper)
    if files == nil || !covers(wanted) {
      scope = wanted
      let begun = begin(wanted)
      sources = begun.log.map { Source(segment: $0.segment, writes: $0.writes) }
      files = begun.files
      files?.skipping = skipping
    }
    for index in sources.indices {
      sources[index].position = sources[index].writes.find(key, in: sources[index].segment.base)
    }
    filesHaveKey = try files?.seek(to: key) ?? false
    return try findLeast()
  }

  func next() throws(StoreError) -> Bool {
    if let current { try skip(current) }
    return try findLeast()
  }

  /// Whether the writes that the first seek gathered include those of another scope.
  private func covers(_ wanted: KeyScope?) -> Bool {
    guard let scope else { return true }
    guard let wanted else { return false }
    return scope.kind == wanted.kind && (scope.subject == 0 || scope.subject == wanted.subject)
  }

  /// Moves the writes and the files' cursor past `key`.
  private func skip(_ key: ByteView) throws(StoreError) {
    let isInFiles = filesHaveKey && files.map { ByteOrder.equal($0.key, key) } == true
    skipInSources(key)
    if isInFiles { filesHaveKey = try files?.next() ?? false }
  }

  private func skipInSources(_ key: ByteView) {
    for index in sources.indices {
      if let own = sources[index].key, ByteOrder.equal(own, key) {
        sources[index].position = sources[index].writes.position(after: sources[index].position)
      }
    }
  }

  /// Moves to the least key that has a value.
  ///
  /// Of several values under one key the latest segment's counts, and any segment's before the files'.
  private func findLeast() throws(StoreError) -> Bool {
    while true {
      var least: ByteView? = filesHaveKey ? files?.key : nil
      var chosen: Int?
      for (index, source) in sources.enumerated() {
        guard let key = source.key else { continue }
        guard let other = least else {
          least = key
          chosen = index
          continue
        }
        let order = ByteOrder.compare(key, other)
        if order < 0 || (order == 0 && chosen == nil) {
          least = key
          chosen = index
        }
      }
      guard let least else { return false }
      if let upper, ByteOrder.compare(least, upper) >= 0 { return false }
      current = least
      guard let chosen, let offset = sources[chosen].writes[sources[chosen].position] else {
        currentValue = nil
        return true
      }
      currentValue = SegmentWrite.value(at: offset, in: sources[chosen].segment.base)
      if currentValue != nil { return true }
      currentValue = ByteView.empty
      try skip(least)
    }
  }
}
