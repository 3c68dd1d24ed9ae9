import RuledCore
import RuledIO

/// Requests from one worker's connections, or of an HTTP exchange, for the subjects of one worker, in the order in which they were sent.
///
/// Some are parsed and known to be valid. Others are lines of which only the subject was found: if they are requests, they are events of it.
final class RequestBundle: @unchecked Sendable {  // one thread has it at a time: its sender does not use it again
  struct Entry {
    let target: ReplyTarget
    let range: Range<Int>
    /// The hash of the subject's name, which is fetched ahead; 0 where it is not known.
    let subject: UInt64
  }

  /// The texts, each followed by `LineFramer.padding` bytes that parsers may read.
  private let bytes = ByteBuffer(capacity: 4096)
  private(set) var entries: [Entry] = []

  /// Adds a request about the subject whose name has the hash `subject`.
  func add(_ text: ByteView, to target: ReplyTarget, subject: UInt64 = 0) {
    let start = bytes.count
    bytes.append(text)
    bytes.reserve(LineFramer.padding)
    entries.append(Entry(target: target, range: start..<bytes.count, subject: subject))
  }

  /// The text of a request; the `LineFramer.padding` bytes after it can be read.
  func text(of entry: Entry) -> ByteView { bytes.bytes.extracting(entry.range) }

  /// Removes the requests and keeps the memory.
  func removeAll() {
    bytes.removeAll()
    entries.removeAll(keepingCapacity: true)
  }

  var capacity: Int { bytes.capacity }
}
