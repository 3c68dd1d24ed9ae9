import RuledCore
import RuledEngine

/// A request that does not come from a worker's connection.
struct ForwardedRequest: Sendable {
  /// The request, one JSON-RPC object.
  let text: [UInt8]
  /// Where the reply goes.
  let target: ReplyTarget
  /// The hash of the name of the subject that it is about; 0 where only the one who executes it has to know that.
  var subject: UInt64 = 0
  /// The partition of that subject; nil if it is about none, or where no subjects are lent.
  var partition: Partition?
}

/// Requests from one worker's connections for the subjects of one worker, in the order in which they were sent.
///
/// Some are parsed and known to be valid. Others are lines of which only the subject was found: if they are requests, they are events of it.
final class RequestBundle: @unchecked Sendable {  // one thread has it at a time: its sender does not use it again
  /// One request.
  struct Entry {
    let target: ReplyTarget
    let range: Range<Int>
    /// The hash of the subject's name.
    let subject: UInt64
    /// The subject's partition; nil where no subjects are lent.
    let partition: Partition?
  }

  /// The texts, each followed by `LineFramer.padding` bytes that parsers may read.
  private let bytes = ByteBuffer(capacity: 4096)
  /// The requests in their order.
  private(set) var entries: [Entry] = []

  /// Adds a request about the subject whose name has the hash `subject`.
  func append(_ text: ByteView, to target: ReplyTarget, subject: UInt64, partition: Partition? = nil) {
    let start = bytes.count
    bytes.append(text)
    bytes.reserve(LineFramer.padding)
    entries.append(Entry(target: target, range: start..<bytes.count, subject: subject, partition: partition))
  }

  /// The text of a request; the `LineFramer.padding` bytes after it can be read.
  func text(of entry: Entry) -> ByteView { bytes.bytes.extracting(entry.range) }

  /// A request by itself.
  func request(_ entry: Entry) -> ForwardedRequest {
    ForwardedRequest(
      text: Array(text(of: entry)), target: entry.target, subject: entry.subject, partition: entry.partition)
  }

  /// Removes the requests and keeps the memory.
  func removeAll() {
    bytes.removeAll()
    entries.removeAll(keepingCapacity: true)
  }

  /// How many bytes of memory the texts have.
  var capacity: Int { bytes.capacity }
}

/// Replies in one run of bytes, on their way from one thread to another.
struct ReplyBundle: Sendable {
  /// One reply.
  struct Entry: Sendable {
    let target: ReplyTarget
    let range: Range<Int>
  }

  /// The memory of the replies.
  final class Storage: @unchecked Sendable {  // one thread has it at a time: its sender does not use it again
    fileprivate let bytes = ByteBuffer(capacity: 4096)
    fileprivate var entries: [Entry] = []

    fileprivate func removeAll() {
      bytes.removeAll()
      entries.removeAll(keepingCapacity: true)
    }
  }

  private var storage: Storage?

  /// A bundle without replies.
  init() {}

  /// Whether there are no replies.
  var isEmpty: Bool { count == 0 }

  /// How many there are.
  var count: Int { storage?.entries.count ?? 0 }

  /// Adds a reply; the first one takes its storage from `pool`.
  mutating func append(_ reply: ByteView, to target: ReplyTarget, pool: BundlePool? = nil) {
    let storage = storage ?? pool?.storages.popLast() ?? Storage()
    self.storage = storage
    let start = storage.bytes.count
    storage.bytes.append(reply)
    storage.entries.append(Entry(target: target, range: start..<storage.bytes.count))
  }

  /// Removes the replies, and keeps their memory unless that is much.
  mutating func removeAll() {
    if let storage, storage.bytes.capacity <= BundlePool.maximumBytes { storage.removeAll() } else { storage = nil }
  }

  /// Calls `body` with each reply, then leaves the storage to `pool`.
  func forEach(recyclingTo pool: BundlePool? = nil, _ body: (ByteView, ReplyTarget) -> Void) {
    guard let storage else { return }
    for entry in storage.entries {
      body(storage.bytes.bytes.extracting(entry.range), entry.target)
    }
    guard let pool, pool.storages.count < BundlePool.maximumCount,
      storage.bytes.capacity <= BundlePool.maximumBytes
    else { return }
    storage.removeAll()
    pool.storages.append(storage)
  }
}

/// Bundles that one worker has received and can send again, so that forwarding allocates no memory.
final class BundlePool {
  /// How many bundles of a kind are pooled.
  static let maximumCount = 8
  /// The largest bundle in bytes that is pooled.
  static let maximumBytes = 1 << 20

  fileprivate var storages: [ReplyBundle.Storage] = []
  private var requests: [RequestBundle] = []

  /// An empty bundle of requests.
  func requestBundle() -> RequestBundle { requests.popLast() ?? RequestBundle() }

  /// Pools a bundle whose requests are executed.
  func recycle(_ bundle: RequestBundle) {
    guard requests.count < Self.maximumCount, bundle.capacity <= Self.maximumBytes else { return }
    bundle.removeAll()
    requests.append(bundle)
  }
}
