import RuledCore
import RuledJSON
import TestSupport
import Testing

@testable import RuledJournal

/// The event of an entry that says what a subject kept.
@Suite struct KeptEventTests {
  private static func text(_ records: [UInt8], of subject: String) -> [UInt8] {
    let text = ByteBuffer()
    records.withView { records in Array(subject.utf8).withView { KeptEvent.write(records, of: $0, into: text) } }
    return Array(text.bytes)
  }

  @Test func `all bytes come out again, and the shown event has none`() throws {
    var random = SeededRandom(seed: 81)
    for count in 0..<200 {
      let records = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(KeptEvent.records(in: Self.text(records, of: "user:\"1")) == records)
    }
    let shown = ByteBuffer()
    ByteBuffers("user:1").with(0) { KeptEvent.writeShown(of: $0, into: shown) }
    #expect(try JSONValue(parsing: shown.bytes) == ["type": "ruled.kept", "id": "", "subject": "user:1"])
  }

  @Test func `builds before it take the entry for a message, and no message is one`() throws {
    #expect(JournalEntry.Origin.kept.number == JournalEntry.Origin.message.number)
    func origin(_ text: [UInt8], _ origin: JournalEntry.Origin) -> JournalEntry.Origin {
      text.withView { EntryView(origin: origin, flags: [], at: 0, now: 0, text: $0).entry.origin }
    }
    let event = Self.text([1, 2], of: "user:1")
    #expect(origin(event, .message) == .kept && origin(event, .client) == .client)
    #expect(try JSONValue(parsing: String(decoding: event, as: UTF8.self))["from"] == nil)
    for message in [#"{"type":"ruled.kept","subject":"user:1"}"#, #"{"topic":"p/t"}"#, "{", ""] {
      #expect(origin(Array(message.utf8), .message) == .message)
    }
  }
}
