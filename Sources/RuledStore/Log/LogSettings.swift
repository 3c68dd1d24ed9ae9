/// The sizes of the redo log.
struct LogSettings: Sendable {
  /// How many bytes a segment has room for, unless one commit needs more; whole blocks.
  var segmentBytes = 64 << 20
  /// How many sealed segments may wait for the drain before commits wait for it, or fail while it fails.
  var longestBacklog = 3
  /// How many segments of an earlier process are held in memory at a time while they are taken up; the rest is drained first.
  var heldAtStart = 2

  /// From how many bytes on a segment is a busy one, so that the next one's file is worth writing to ahead of time.
  var busyBytes: Int { segmentBytes / 16 }

  /// How many slots the index of a segment has before it grows: a power of two.
  var indexSlots: Int { max(1 << 6, segmentBytes >> 7) }
}
