import RuledCore
import RuledStore

/// A key of one side of a backtest and its value, in the form in which they are compared.
protocol ComparedEntry: Equatable {
  /// Pairs it with an entry of the other side; the store's order is that of these keys.
  var key: [UInt8] { get }
}

/// Calls `body` with all entries of one kind on both sides, in the order of their keys, those with equal keys together.
///
/// A reader makes the entry of a key and a value; nil leaves it out. Only one entry of each side is in memory.
func forEachPair<Entry: ComparedEntry>(
  of kind: StoreKey.Kind, _ baseline: any StateStore, _ read: @escaping StoredSide<Entry>.Reader,
  _ candidate: any StateStore, _ readOther: @escaping StoredSide<Entry>.Reader,
  _ body: (_ before: Entry?, _ after: Entry?) -> Void
) throws(StoreError) {
  let prefix = StoreKey.prefix(kind)
  try (StoreKey.upperBound(prefix) ?? []).withView { (upper) throws(StoreError) in
    try baseline.withCursor(below: upper) { (left) throws(StoreError) in
      try candidate.withCursor(below: upper) { (right) throws(StoreError) in
        let one = try StoredSide(left, from: prefix, read), other = try StoredSide(right, from: prefix, readOther)
        while let first = first(one.entry, other.entry) {
          let (hasOne, hasOther) = (one.entry?.key == first.key, other.entry?.key == first.key)
          body(hasOne ? one.entry : nil, hasOther ? other.entry : nil)
          if hasOne { try one.advance() }
          if hasOther { try other.advance() }
        }
      }
    }
  }
}

/// The one of two entries whose key is first.
private func first<Entry: ComparedEntry>(_ left: Entry?, _ right: Entry?) -> Entry? {
  guard let left, let right else { return left ?? right }
  return right.key.lexicographicallyPrecedes(left.key) ? right : left
}

/// The entries of one side, one after the other.
final class StoredSide<Entry: ComparedEntry> {
  typealias Reader = (_ key: ByteView, _ value: ByteView) -> Entry?

  /// The present entry; nil at the end.
  private(set) var entry: Entry?
  private let cursor: any StoreCursor
  private let read: Reader

  init(_ cursor: any StoreCursor, from prefix: [UInt8], _ read: @escaping Reader) throws(StoreError) {
    self.cursor = cursor
    self.read = read
    if try prefix.withView({ (prefix) throws(StoreError) in try cursor.seek(to: prefix) }) {
      entry = read(cursor.key, cursor.value)
      if entry == nil { try advance() }
    }
  }

  func advance() throws(StoreError) {
    entry = nil
    while entry == nil, try cursor.next() { entry = read(cursor.key, cursor.value) }
  }
}
