import RuledCore
import RuledIO

/// Requests for the subjects of one worker, or replies for its connections, on their way from another thread, in the order in which they were sent.
///
/// Some requests are parsed and known to be valid. Others are lines of which only the subject was found: if they are requests, they are events of it.
final class TextBundle: @unchecked Sendable {  // one thread has it at a time: its sender does not use it again
  struct Text {
    let target: ReplyTarget
    let range: Range<Int>
    /// The hash of the subject's name, which is fetched ahead; 0 where it is not known.
    let subject: UInt64
  }

  /// The texts, each followed by `LineFramer.padding` bytes that parsers may read.
  private let content = ByteBuffer(capacity: 4096)
  private(set) var texts: [Text] = []

  /// Adds a reply, or a request about the subject whose name has the hash `subject`.
  func add(_ bytes: ByteView, to target: ReplyTarget, subject: UInt64 = 0) {
    let start = content.count
    content.append(bytes)
    content.reserve(LineFramer.padding)
    texts.append(Text(target: target, range: start..<content.count, subject: subject))
  }

  /// The bytes of a text; the `LineFramer.padding` bytes after it can be read.
  func bytes(of text: Text) -> ByteView { content.bytes.extracting(text.range) }

  /// Removes the texts and keeps the memory.
  fileprivate func removeAll() {
    content.removeAll()
    texts.removeAll(keepingCapacity: true)
  }

  fileprivate var capacity: Int { content.capacity }
}

/// Bundles that one worker has received and can send again, so that forwarding allocates no memory.
final class BundlePool {
  private static let maximumCount = 16
  /// The largest bundle in the pool, in bytes.
  private static let maximumBytes = 1 << 20

  private var bundles: [TextBundle] = []

  func bundle() -> TextBundle { bundles.popLast() ?? TextBundle() }

  func putBack(_ bundle: TextBundle) {
    guard bundles.count < Self.maximumCount, bundle.capacity <= Self.maximumBytes else { return }
    bundle.removeAll()
    bundles.append(bundle)
  }
}
