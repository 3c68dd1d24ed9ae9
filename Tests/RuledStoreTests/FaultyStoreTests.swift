import StoreTestSupport
import Testing

@testable import RuledStore

/// The store that fails on demand.
struct FaultyStoreTests {
  @Test func `the commit that was named fails, and those after it until reopening succeeds`() throws {
    let store = FaultyStore(MemoryStore())
    store.failCommit(2, thenReopens: 1)
    try store.put("ra", "1")
    let error = #expect(throws: StoreError.self) { try store.put("ra", "2") }
    #expect(error?.code == .diskFull)
    #expect(#expect(throws: StoreError.self) { try store.syncCommits() }?.code == .poisoned)
    #expect(throws: StoreError.self) { try store.reopen() }
    #expect(throws: StoreError.self) { try store.put("ra", "3") }
    try store.reopen()
    #expect(try store.text("ra") == "1")
    try store.put("ra", "4")
    #expect(try store.text("ra") == "4")
  }
}
