/// Consumes the journal's records in sealed segments of the log, before the segments are reused.
package protocol SegmentConsumer: AnyObject, Sendable {
  /// Consumes the commits of a sealed segment.
  ///
  /// Called on the store's own thread, the earliest segment first. A segment may come again after a crash. It does not throw: a journal
  /// that can't be written must not keep the log from being flushed to the database.
  func consume(_ commits: LoggedCommits)

  /// Consumes the saved commits of a damaged log's segment; `last` is the sequence of the last change before it.
  func consume(salvaged commits: LoggedCommits, after last: UInt64)
}
