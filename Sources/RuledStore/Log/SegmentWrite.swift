import RuledCore

/// Reads the writes of a segment by their offsets.
enum SegmentWrite {
  static func key(at offset: Int, in base: UnsafeRawPointer) -> ByteView {
    entry(at: offset, in: base).key
  }

  /// The key of the write at `offset`, and the value that it puts there; nil when it removes the key.
  static func entry(at offset: Int, in base: UnsafeRawPointer) -> (key: ByteView, value: ByteView?) {
    var offset = offset
    switch WriteRecords.operation(in: base, at: &offset) {
    case .put(let key, let value): return (key, value)
    case .delete(let key): return (key, nil)
    case .journal: preconditionFailure("a record for the journal is not indexed")
    }
  }

  /// Moves `offset` behind the write there.
  static func skip(_ offset: inout Int, in base: UnsafeRawPointer) { _ = WriteRecords.operation(in: base, at: &offset) }

  /// The value that the write at `offset` puts; nil when it removes its key.
  static func value(at offset: Int, in base: UnsafeRawPointer) -> ByteView? {
    entry(at: offset, in: base).value
  }
}
