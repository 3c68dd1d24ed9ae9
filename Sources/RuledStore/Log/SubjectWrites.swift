import Synchronization

/// The offsets of a segment's writes on the keys of the subjects that were read last.
///
/// The erasure of a subject reads its keys of one kind after the other, and the end of an account erases thousands of subjects: without these offsets
/// each read passes the whole segment.
final class SubjectWrites: Sendable {
  private struct Entry {
    let subject: UInt32
    /// The end of the frames whose writes it has.
    var end: Int
    var offsets: [UInt32]
  }

  /// More than a few workers use at a time.
  private static let most = 16
  private let entries = Mutex<[Entry]>([])

  /// The offsets of the writes on a subject's keys before `end`, some of them perhaps not the last on their key.
  ///
  /// `find` gives the last writes at or behind an offset, where a frame begins.
  func offsets(of subject: UInt32, before end: Int, find: (_ start: Int) -> [UInt32]) -> [UInt32] {
    entries.withLock { entries in
      var entry =
        entries.firstIndex { $0.subject == subject }.map { entries.remove(at: $0) }
        ?? Entry(subject: subject, end: LogFrame.fileHeader, offsets: [])
      if entry.end < end { entry.offsets += find(entry.end) }
      entry.end = end
      if entries.count == Self.most { entries.removeFirst() }
      entries.append(entry)
      return entry.offsets
    }
  }
}
