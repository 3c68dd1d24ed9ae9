import RuledStore
import Synchronization

/// Positions of commits in the log, a MiB apart, so that reading the latest entries does not take reading the whole log.
final class LogMarks: Sendable {
  /// The position of a commit.
  struct Mark: Sendable, Equatable {
    let segment: UInt64
    /// Its offset in the segment, in bytes.
    let offset: Int
    /// The last sequence before it.
    let sequence: UInt64
  }

  /// The least distance between marks of one segment, in bytes.
  static let spacing = 1 << 20

  /// In the order of the log.
  private let marks = Mutex<[Mark]>([])

  var all: [Mark] { marks.withLock { $0 } }

  /// Adds a mark if it is behind all others and not too close to the last one.
  func note(_ mark: Mark) {
    marks.withLock { marks in
      if let last = marks.last {
        guard mark.segment > last.segment || mark.offset >= last.offset + Self.spacing && mark.segment == last.segment
        else { return }
      }
      marks.append(mark)
    }
  }

  /// The last mark before the sequence `first` in the segments `logged`; removes the marks of other segments.
  func last(before first: UInt64, in logged: [LoggedCommits]) -> Mark? {
    guard let earliest = logged.first?.number else { return nil }
    return marks.withLock { marks in
      marks.removeAll { $0.segment < earliest }
      return marks.last { $0.sequence < first && $0.sequence > 0 }
    }
  }
}
