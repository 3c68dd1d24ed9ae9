/// The sizes of the redo log.
struct LogSettings: Sendable {
  /// How many bytes a segment has room for, unless one commit needs more; whole blocks.
  var segmentBytes = 64 << 20
  /// How many sealed segments may wait to be flushed before commits wait for that, or fail while it fails.
  var longestBacklog = 3
  /// How many segments of an earlier process a start has in memory at a time; it flushes the earliest ones beyond that.
  var segmentsAtStart = 2

  /// A segment of this many bytes makes it worthwhile to write zeros to the next one's file.
  var busyBytes: Int { segmentBytes / 16 }

  /// How many slots the index of a segment has before it grows: a power of two.
  var indexSlots: Int { max(1 << 6, segmentBytes >> 7) }
}
