import RuledCore

/// The writes on remembered outcomes in a segment, in the order in which they came.
///
/// Every event leaves one, and hardly any is looked for before the segment has been drained: so they are listed, and indexed only when one is.
struct SegmentOutcomes {
  private struct Entry {
    /// Where the write stands in the segment.
    let offset: UInt32
    /// The key's `KeyScope.tag`.
    let subject: UInt32
  }

  private var entries: [Entry] = []
  private var index: SegmentIndex?
  private var places: UnsafeMutableBufferPointer<SegmentIndex.Slot>?
  /// How many of the entries are in the index.
  private var indexed = 0

  /// Whether `key` is that of an outcome.
  static func owns(_ key: UnsafeRawBufferPointer) -> Bool { key.first == StoreKey.Kind.outcome.rawValue }

  /// Gives the memory back; nothing may be called after it.
  func deallocate() {
    index?.deallocate()
    places?.deallocate()
  }

  /// Notes that a write on `key` stands at `offset`, behind all others.
  mutating func append(_ key: UnsafeRawBufferPointer, at offset: Int) {
    entries.append(Entry(offset: UInt32(offset), subject: KeyScope.tag(key)))
  }

  /// Where the last write on `key` stands, 0 when there is none; the index takes up what came since the last call.
  mutating func find(_ key: UnsafeRawBufferPointer, in base: UnsafeRawPointer) -> Int {
    if index == nil {
      let places = SegmentIndex.table(SegmentIndex.usualPlaces)
      self.places = places
      index = SegmentIndex(in: places)
    }
    while indexed < entries.count {
      let offset = Int(entries[indexed].offset)
      let key = SegmentWrite.key(at: offset, in: base)
      index?.set(key, hash: SegmentIndex.hash(key), at: offset, in: base)
      indexed += 1
    }
    return index?.find(key, in: base) ?? 0
  }

  /// The writes on outcomes of the subject with that tag, of all when it is 0, the earliest first; earlier ones on the same key are among them.
  func offsets(of subject: UInt32 = 0) -> [UInt32] {
    subject == 0 ? entries.map(\.offset) : entries.lazy.filter { $0.subject == subject }.map(\.offset)
  }
}
