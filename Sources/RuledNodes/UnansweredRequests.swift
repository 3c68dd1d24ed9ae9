import RuledCore
import RuledWire

/// The number of unanswered requests that a node has sent to another one for all its clients; confined to a loop.
final class UnansweredCount {
  fileprivate(set) var requests = 0
  fileprivate(set) var idBytes = 0

  /// Whether no more are taken, of `limit` in all.
  func isFull(_ limit: Int, idBytes bytes: Int = Limits.lineBytes) -> Bool { requests >= limit || idBytes >= bytes }
}

/// The unanswered requests of one client that were sent to another node, in their order.
///
/// - Complexity: a request and its answer take constant time, however many are unanswered and in any order of the answers.
struct UnansweredRequests {
  private struct Entry {
    /// The ids as JSON, as the client sent them: one, or a batch's.
    var ids: [[UInt8]] = []
    var isBatch = false
    var watches = 0
  }

  /// An answer's clues to the line that it answers.
  private struct Key: Hashable {
    var isBatch: Bool
    var id: [UInt8]
  }

  /// Numbers of lines in the order in which they were sent.
  private struct Numbers {
    private var list: [Int] = []
    private var start = 0
    private var fullCount = 64

    /// Adds a number; from time to time, it drops the numbers of answered lines.
    mutating func append(_ number: Int, unanswered entries: [Int: Entry]) {
      if list.count >= fullCount {
        list = list[start...].filter { entries[$0] != nil }
        start = 0
        fullCount = max(64, 2 * list.count)
      }
      list.append(number)
    }

    mutating func first(unanswered entries: [Int: Entry]) -> Int? {
      while start < list.count, entries[list[start]] == nil { start += 1 }
      return start < list.count ? list[start] : nil
    }
  }

  private let all: UnansweredCount
  /// The lines without an answer, by their number.
  private var entries: [Int: Entry] = [:]
  private var numbers: [Key: Numbers] = [:]
  private var batches = Numbers()
  private var lastNumber = 0
  /// The number of open watches: their client gets notifications that answer no request.
  private(set) var watches = 0

  /// No requests of one client; `all` counts the requests of all clients.
  init(_ all: UnansweredCount) { self.all = all }

  var count: Int { entries.count }

  /// Notes a sent line; returns false if it wants no answer.
  mutating func add(_ line: RequestLine) -> Bool {
    var entry = Entry()
    switch line {
    case .single(let message): note(message, in: &entry)
    case .batch(var batch):
      entry.isBatch = true
      while let message = batch.next() { note(message, in: &entry) }
    case .invalid: entry.ids.append(Self.null)
    }
    watches += entry.watches
    guard let first = entry.ids.first else { return false }
    lastNumber += 1
    entries[lastNumber] = entry
    numbers[Key(isBatch: entry.isBatch, id: first), default: Numbers()].append(lastNumber, unanswered: entries)
    if entry.isBatch { batches.append(lastNumber, unanswered: entries) }
    all.requests += entry.ids.count
    all.idBytes += Self.idBytes(entry)
    return true
  }

  private static let null = Array("null".utf8)

  private static func idBytes(_ entry: Entry) -> Int { entry.ids.reduce(0) { $0 + $1.count } }

  private func note(_ message: RequestMessage, in entry: inout Entry) {
    switch message {
    case .invalid(let id, _): entry.ids.append(id.map { Array($0) } ?? Self.null)
    case .request(let request):
      if request.method == .watch { entry.watches += 1 }
      if request.method == .unwatch { entry.watches -= 1 }
      if let id = request.id { entry.ids.append(Array(id)) }
    }
  }

  /// Notes a line that came back; returns whether it answers a sent one.
  mutating func noteAnswer(_ head: ReplyHead) -> Bool {
    let number: Int?
    switch head {
    case .notification: return false
    case .answer(let id, _): number = first(Key(isBatch: false, id: Array(id))) ?? batchRefused(id)
    case .batch(let id): number = first(Key(isBatch: true, id: Array(id)))
    }
    guard let number, let entry = remove(number) else { return false }
    // A refused watch is not open.
    if case .answer(_, isError: true) = head { watches -= entry.watches }
    let key = Key(isBatch: entry.isBatch, id: entry.ids[0])
    if first(key) == nil { numbers[key] = nil }
    return true
  }

  private mutating func first(_ key: Key) -> Int? { numbers[key]?.first(unanswered: entries) }

  /// The batch that an error without an id answers: it was refused as a whole.
  private mutating func batchRefused(_ id: ByteView) -> Int? {
    id.elementsEqual(Self.null) ? batches.first(unanswered: entries) : nil
  }

  private mutating func remove(_ number: Int) -> Entry? {
    let entry = entries.removeValue(forKey: number)
    if let entry {
      all.requests -= entry.ids.count
      all.idBytes -= Self.idBytes(entry)
    }
    return entry
  }

  /// Answers all unanswered requests with an error, as lines appended to `buffer`, and forgets the watches; returns the number of lines.
  mutating func refuse(_ error: RequestError, to buffer: ByteBuffer) -> Int {
    let left = entries.keys.sorted().compactMap { remove($0) }
    (numbers, batches, watches) = ([:], Numbers(), 0)
    for entry in left {
      var replies = BatchReply()
      for id in entry.ids {
        if entry.isBatch { replies.begin(to: buffer) }
        id.withView { ReplyWriter.error(error, id: $0, to: buffer) }
      }
      replies.end(to: buffer)
      ReplyWriter.endLine(to: buffer)
    }
    return left.count
  }
}

/// The start of a line that a daemon has sent, which tells which request it answers.
///
/// Daemons write all lines in one form (`ReplyWriter`), so the line need not be parsed.
enum ReplyHead {
  /// It answers the request with this id, which is as it was sent.
  case answer(id: ByteView, isError: Bool)
  /// It answers a batch; the first answer is for this id.
  case batch(firstID: ByteView)
  case notification

  private static let start: StaticString = "{\"jsonrpc\":\"2.0\",\"id\":"
  private static let error: StaticString = ",\"error\":"

  /// Reads a line or its start; nil if the start is too short to tell.
  init?(_ line: ByteView) {
    guard let first = line.first else { return nil }
    let isBatch = first == UInt8(ascii: "[")
    let text = isBatch ? line.extracting(droppingFirst: 1) : line
    let start = ByteView(Self.start)
    guard text.count > start.count else { return nil }
    guard ByteOrder.equal(text.extracting(first: start.count), start) else {
      self = .notification
      return
    }
    let rest = text.extracting(droppingFirst: start.count)
    guard let length = Self.idLength(rest), rest.count >= length + Self.error.utf8CodeUnitCount else { return nil }
    let id = rest.extracting(first: length)
    if isBatch {
      self = .batch(firstID: id)
    } else {
      let next = rest.extracting(length..<length + Self.error.utf8CodeUnitCount)
      self = .answer(id: id, isError: ByteOrder.equal(next, ByteView(Self.error)))
    }
  }

  /// The length of the id that begins here; nil if its end has not come.
  private static func idLength(_ text: ByteView) -> Int? {
    guard text.first == UInt8(ascii: "\"") else { return text.firstIndex { $0 == UInt8(ascii: ",") } }
    var index = 1
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\\"): index += 2
      case UInt8(ascii: "\""): return index + 1
      default: index += 1
      }
    }
    return nil
  }
}
