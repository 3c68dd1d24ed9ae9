struct LogSettings: Sendable {
  /// The bytes that a segment has room for, unless one commit needs more; whole blocks.
  var segmentBytes = 64 << 20
  /// The most sealed segments that wait to be flushed; beyond that, commits wait for the flush, or fail while it fails.
  var longestBacklog = 3
  /// The most segments of an earlier process that a start has in memory; it flushes the earliest ones beyond that.
  var segmentsAtStart = 2

  /// A segment of this many bytes makes it worthwhile to write zeros to the next one's file.
  var busyBytes: Int { segmentBytes / 16 }

  /// The slots of a segment's index before it grows: a power of two.
  var indexSlots: Int { max(1 << 6, segmentBytes >> 7) }
}
