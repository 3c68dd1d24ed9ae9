import RuledCore
import RuledEngine

/// A request that is not from a connection of a worker.
struct ForwardedRequest: Sendable {
  /// The request, one JSON-RPC object.
  let text: [UInt8]
  /// Where the reply goes.
  let target: ReplyTarget
}

/// Requests from one worker's connections for one worker's subjects, in the order in which they were sent: parsed ones that may be
/// carried out, and lines that were only looked at, which are events of these subjects if they are requests.
final class RequestBundle: @unchecked Sendable {  // handed over whole
  /// One request.
  struct Entry {
    let target: ReplyTarget
    let range: Range<Int>
    /// The hash of the subject's name.
    let subject: UInt64
  }

  /// All texts, with room behind them that parsers may read.
  private let bytes = ByteBuffer(capacity: 4096)
  /// Which of them are which.
  private(set) var entries: [Entry] = []

  /// Adds a request about the subject whose name has that hash.
  func append(_ text: UnsafeRawBufferPointer, _ target: ReplyTarget, subject: UInt64) {
    let start = bytes.count
    bytes.append(text)
    bytes.reserve(LineFramer.padding)
    entries.append(Entry(target: target, range: start..<bytes.count, subject: subject))
  }

  /// The text of a request; `LineFramer.padding` bytes behind it can be read.
  func text(of entry: Entry) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes.bytes[entry.range]) }

  /// Forgets the requests and keeps the room.
  func removeAll() {
    bytes.removeAll()
    entries.removeAll(keepingCapacity: true)
  }

  /// How many bytes it takes.
  var capacity: Int { bytes.capacity }
}

/// Replies for the connections of one worker.
struct ReplyBundle: Sendable {
  /// One reply.
  struct Entry: Sendable {
    let target: ReplyTarget
    let range: Range<Int>
  }

  /// What the replies are gathered in.
  final class Room: @unchecked Sendable {  // handed over whole
    fileprivate let bytes = ByteBuffer(capacity: 4096)
    fileprivate var entries: [Entry] = []

    fileprivate func removeAll() {
      bytes.removeAll()
      entries.removeAll(keepingCapacity: true)
    }
  }

  private var room: Room?

  /// No replies.
  init() {}

  /// Which of the bytes are whose.
  var entries: [Entry] { room?.entries ?? [] }

  /// Adds a reply; the first one takes room from `spare`.
  mutating func append(_ reply: UnsafeRawBufferPointer, to target: ReplyTarget, from spare: SpareBundles? = nil) {
    let room = room ?? spare?.replies.popLast() ?? Room()
    self.room = room
    let start = room.bytes.count
    room.bytes.append(reply)
    room.entries.append(Entry(target: target, range: start..<room.bytes.count))
  }

  /// Calls `body` with each reply, then leaves the room to `spare`.
  func handOut(to spare: SpareBundles? = nil, _ body: (UnsafeRawBufferPointer, ReplyTarget) -> Void) {
    guard let room else { return }
    for entry in room.entries { body(UnsafeRawBufferPointer(rebasing: room.bytes.bytes[entry.range]), entry.target) }
    guard let spare, spare.replies.count < SpareBundles.most, room.bytes.capacity <= SpareBundles.mostBytes else {
      return
    }
    room.removeAll()
    spare.replies.append(room)
  }
}

/// Bundles that a worker has received and can send again, so that what goes to and fro allocates nothing.
final class SpareBundles {
  /// How many of a kind are kept.
  static let most = 8
  /// How many bytes a bundle may have that is kept.
  static let mostBytes = 1 << 20

  fileprivate var replies: [ReplyBundle.Room] = []
  private var requests: [RequestBundle] = []

  /// An empty bundle of requests.
  func takeRequests() -> RequestBundle { requests.popLast() ?? RequestBundle() }

  /// Takes a bundle whose requests are carried out.
  func giveBack(_ bundle: RequestBundle) {
    guard requests.count < Self.most, bundle.capacity <= Self.mostBytes else { return }
    bundle.removeAll()
    requests.append(bundle)
  }
}
