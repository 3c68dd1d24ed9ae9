import RuledCore
import RuledWire

/// The requests of one client that were sent to another node and have no answer yet, in the order in which they were sent.
struct UnansweredRequests {
  private struct Entry {
    /// The ids as JSON, as the client sent them: one, or those of a batch.
    var ids: [[UInt8]]
    var isBatch: Bool
    var watches: Int
    var isAnswered = false
  }

  private var entries: [Entry] = []
  /// How many entries at the start are answered.
  private var answered = 0
  /// How many watches are open: their client gets notifications that answer no request.
  private(set) var watches = 0

  init() {}

  /// The number of lines without an answer.
  var count: Int { entries.count { !$0.isAnswered } }

  /// Notes a line that is sent; returns false if it wants no answer.
  mutating func add(_ line: RequestLine) -> Bool {
    var entry = Entry(ids: [], isBatch: false, watches: 0)
    switch line {
    case .single(let message): note(message, in: &entry)
    case .batch(var batch):
      entry.isBatch = true
      while let message = batch.next() { note(message, in: &entry) }
    case .invalid: entry.ids.append(Self.null)
    }
    watches += entry.watches
    guard !entry.ids.isEmpty else { return false }
    entries.append(entry)
    return true
  }

  private static let null = Array("null".utf8)

  private func note(_ message: RequestMessage, in entry: inout Entry) {
    switch message {
    case .invalid(let id, _): entry.ids.append(id.map { Array($0) } ?? Self.null)
    case .request(let request):
      if request.method == .watch { entry.watches += 1 }
      if request.method == .unwatch { entry.watches -= 1 }
      if let id = request.id { entry.ids.append(Array(id)) }
    }
  }

  /// Notes a line that came back; returns whether it answers one that was sent.
  mutating func noteAnswer(_ head: ReplyHead) -> Bool {
    let found: Int?
    switch head {
    case .notification: return false
    case .answer(let id, _): found = index { !$0.isBatch && id.elementsEqual($0.ids[0]) } ?? batchRefused(id)
    case .batch(let id): found = index { $0.isBatch && id.elementsEqual($0.ids[0]) }
    }
    guard let found else { return false }
    // A watch that was refused is not open.
    if case .answer(_, isError: true) = head { watches -= entries[found].watches }
    entries[found].isAnswered = true
    while answered < entries.count, entries[answered].isAnswered { answered += 1 }
    if answered == entries.count || answered >= 256 {
      entries.removeFirst(answered)
      answered = 0
    }
    return true
  }

  private func index(_ matches: (Entry) -> Bool) -> Int? {
    entries[answered...].firstIndex { !$0.isAnswered && matches($0) }
  }

  /// The batch that an error without an id answers: it was refused as a whole.
  private func batchRefused(_ id: ByteView) -> Int? {
    id.elementsEqual(Self.null) ? index { $0.isBatch } : nil
  }

  /// Answers all unanswered requests with an error, as lines appended to `buffer`; returns the number of lines.
  mutating func refuse(_ error: RequestError, to buffer: ByteBuffer) -> Int {
    let left = entries.filter { !$0.isAnswered }
    entries = []
    answered = 0
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
