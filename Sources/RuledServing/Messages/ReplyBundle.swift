import RuledCore
import RuledEngine

/// Replies in one run of bytes, on their way from one thread to another.
struct ReplyBundle: Sendable {
  struct Entry: Sendable {
    let target: ReplyTarget
    let range: Range<Int>
  }

  final class Storage: @unchecked Sendable {  // one thread has it at a time: its sender does not use it again
    fileprivate let bytes = ByteBuffer(capacity: 4096)
    fileprivate var entries: [Entry] = []

    fileprivate func removeAll() {
      bytes.removeAll()
      entries.removeAll(keepingCapacity: true)
    }
  }

  private var storage: Storage?

  var isEmpty: Bool { storage?.entries.isEmpty ?? true }

  /// Adds a reply; the first one takes its storage from `pool`.
  mutating func append(_ reply: ByteView, to target: ReplyTarget, pool: BundlePool? = nil) {
    let storage = storage ?? pool?.storages.popLast() ?? Storage()
    self.storage = storage
    let start = storage.bytes.count
    storage.bytes.append(reply)
    storage.entries.append(Entry(target: target, range: start..<storage.bytes.count))
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
  /// The most bundles of a kind in the pool.
  static let maximumCount = 8
  /// The largest bundle in the pool, in bytes.
  static let maximumBytes = 1 << 20

  fileprivate var storages: [ReplyBundle.Storage] = []
  private var requests: [RequestBundle] = []

  func requestBundle() -> RequestBundle { requests.popLast() ?? RequestBundle() }

  func recycle(_ bundle: RequestBundle) {
    guard requests.count < Self.maximumCount, bundle.capacity <= Self.maximumBytes else { return }
    bundle.removeAll()
    requests.append(bundle)
  }
}
