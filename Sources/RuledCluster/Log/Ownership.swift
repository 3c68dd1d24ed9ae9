/// The right to write a log.
package struct Ownership: Sendable, Equatable {
  /// The epoch under which the owner writes.
  package let epoch: Int64
  /// The end of the log, which only the owner moves.
  package private(set) var end: LogPosition
  /// For each database of the log, the cluster's first, the position after its last batch.
  private(set) var ends: [LogPosition]

  /// The ownership in `epoch` of a log whose databases have these ends.
  init(epoch: Int64, ends: [LogPosition]) {
    self.epoch = epoch
    self.ends = ends
    end = ends.latest
  }

  /// The index of the database that a batch belongs into: they take turns.
  func database(of sequence: Int64) -> Int { Int(sequence % Int64(ends.count)) }

  /// The ownership after the owner has appended a batch that ends at `next`.
  func appended(_ next: LogPosition) -> Ownership {
    var moved = self
    moved.ends[database(of: next.sequence)] = next
    moved.end = next
    return moved
  }
}

extension [LogPosition] {
  /// The position that comes last in the log.
  var latest: LogPosition { self.max { $0.sequence < $1.sequence } ?? .start }
}
