/// The sizes of the redo log.
struct LogSettings: Sendable {
  /// How many bytes a segment has room for, unless one commit needs more; whole blocks.
  var segmentBytes = 64 << 20
  /// How many sealed segments may wait to be flushed before commits wait for that, or fail while it fails.
  var longestBacklog = 3
  /// How many segments of an earlier process a start holds in memory at a time; it flushes the earliest ones beyond that.
  var heldAtStart = 2

  /// From how many bytes on a segment is busy enough to make writing zeros to the next one's file worthwhile.
  var busyBytes: Int { segmentBytes / 16 }

  /// How many slots the index of a segment has before it grows: a power of two.
  var indexSlots: Int { max(1 << 6, segmentBytes >> 7) }
}
