import RuledJournal
import Testing

/// Checks the names that stand in files and in the protocol.
@Suite struct JournalEntryTests {
  @Test func `origins have the names of the protocol`() {
    let names = JournalEntry.Origin.allCases.map(\.rawValue)
    #expect(names == ["client", "message", "timer", "retry", "forget", "rules", "kept"])
  }
}
