internal import RuledCore
internal import RuledJSON
internal import RuledJournal
internal import RuledStore

/// A file of events, one a line, as a journal in which clients sent them; an event's sequence is its line.
final class EventLines: JournalSource, @unchecked Sendable {  // the thread that plays the events alone reads it
  let first: UInt64 = 0
  let gaps: [JournalGap] = []
  let snapshots: [JournalSnapshot] = []
  /// Whether the events come from standard input or a pipe, which can't be read a second time.
  let isReadOnce: Bool
  private let path: String
  private let environment: ToolEnvironment
  private var input: Input
  private let document = TapeDocument()
  private var line = 0
  private var time = Timestamp(microseconds: 0)

  /// The events of a file; `-` is standard input.
  init(_ path: String, _ environment: ToolEnvironment) throws(ToolError) {
    self.path = path
    self.environment = environment
    input = try environment.open(path)
    isReadOnce = path == "-" || input.size == nil
  }

  /// How much of the file was read, from 0 to 1; nil when its size is not known.
  var share: Double? { input.share }

  /// About how many events there are; 0 when the file's size is not known.
  var estimate: Int { (input.size ?? 0) / 200 }

  /// Calls `body` with each event from the first one on.
  ///
  /// Its time is the value of `now()`; an event without a time happens at the time of the event before it.
  func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    do throws(ToolError) {
      if !isReadOnce { input = try environment.open(path) }
      (line, time) = (0, Timestamp(microseconds: 0))
      while let text = try input.nextLine() {
        line += 1
        guard !Input.isBlank(text) else { continue }
        guard body(try entry(text)) else { return }
      }
    } catch { throw StoreError(.inputOutput, error.message) }
  }

  private func entry(_ text: [UInt8]) throws(ToolError) -> JournalEntry {
    guard let event = text.withView({ try? document.parse(copyOf: $0) }) else { throw error("it is not JSON") }
    guard event.isKind(.object) else { throw error("an event is a JSON object") }
    let subject = try member("subject", of: event)
    _ = try member("type", of: event)
    if let value = event.member("time") {
      guard let time = value.text.flatMap({ Timestamp(rfc3339: $0) }) else {
        throw error("'time' must be a time in RFC 3339, such as \"2026-03-01T09:00:00Z\"")
      }
      self.time = time
    }
    return JournalEntry(
      sequence: UInt64(line), at: time, now: time, subject: subject, version: 0, revision: "", origin: .client,
      event: event.member("id") == nil ? withID(text) : text)
  }

  private func member(_ name: StaticString, of event: TapeValue) throws(ToolError) -> String {
    guard let text = event.member(name)?.text, (1...256).contains(text.utf8.count) else {
      throw error("'\(name)' must be a string of 1 to 256 bytes")
    }
    return text
  }

  /// The event with an id, as the daemon would give it one.
  private func withID(_ text: [UInt8]) -> [UInt8] {
    let trimmed = text.withView { Array($0.trimmedJSON) }
    return trimmed.dropLast() + Array(",\"id\":\"line-\(line)\"}".utf8)
  }

  private func error(_ what: String) -> ToolError {
    ToolError("\(path == "-" ? "standard input" : path):\(line): \(what)")
  }
}
