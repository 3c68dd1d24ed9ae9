import RuledCore
import RuledWire

/// The requests of one client that went to another node and have no answer yet, in the order in which they went.
struct UnansweredRequests {
  private struct Entry {
    /// The ids as sent, as JSON: one, or those of a batch.
    var ids: [[UInt8]]
    var isBatch: Bool
    var watches: Int
    var isAnswered = false
  }

  private var entries: [Entry] = []
  /// How many entries at the start are answered.
  private var answered = 0
  /// How many changes of watches are not undone: a client with one gets changes that nobody asks for one by one.
  private(set) var watches = 0

  /// None.
  init() {}

  /// How many lines have no answer.
  var count: Int { entries.count { !$0.isAnswered } }

  /// Notes a line that went; gives false for one that wants no answer.
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

  /// Notes a line that came back; gives whether it answers one that went.
  mutating func noteAnswer(_ head: ReplyHead) -> Bool {
    let found: Int?
    switch head {
    case .notification: return false
    case .answer(let id, _): found = index { !$0.isBatch && id.elementsEqual($0.ids[0]) } ?? batchRefused(id)
    case .batch(let id): found = index { $0.isBatch && id.elementsEqual($0.ids[0]) }
    }
    guard let found else { return false }
    // A watch that was refused is none.
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

  /// A batch that was refused as a whole has an answer without an id.
  private func batchRefused(_ id: ByteView) -> Int? {
    id.elementsEqual(Self.null) ? index { $0.isBatch } : nil
  }

  /// Answers all that is unanswered with an error, as lines behind those in `buffer`; gives how many there were.
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

/// What the start of a line that the daemon has sent says: which request it answers.
///
/// The daemon writes its lines in one form (`ReplyWriter`), so nothing needs to be parsed.
enum ReplyHead {
  /// It answers one request; the id is as it was sent.
  case answer(id: ByteView, isError: Bool)
  /// It answers a batch, whose first answer is for that id.
  case batch(firstID: ByteView)
  /// It answers none.
  case notification

  private static let start: StaticString = "{\"jsonrpc\":\"2.0\",\"id\":"
  private static let error: StaticString = ",\"error\":"

  /// Reads a line or its start; nil if too little of it is there.
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

  /// How many bytes the id has that begins here; nil if its end is not there.
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
