import RuledCore
import TestSupport
import Testing

@testable import RuledJournal
@testable import RuledStore

/// What watches go on from: the last entries without a gap, also in a journal that begins with a copy of the store.
@Suite struct TailTests {
  private static func first(_ rig: JournalRig, count: Int = 100, bytes: Int = 1 << 20) throws -> UInt64 {
    try rig.source.firstChange(through: rig.sequence, count: count, byteCount: bytes)
  }

  @Test(arguments: [false, true])
  func `changes go back to the last gap, and no further than wanted`(isFlushed: Bool) throws {
    let rig = try JournalRig()
    #expect(try Self.first(rig) == 1, "there is none")
    for _ in 0..<20 { try rig.send("user:1") }
    if isFlushed { try rig.flush() }
    #expect(try Self.first(rig) == 1)
    #expect(try Self.first(rig, count: 5) == 16)
    #expect(try Self.first(rig, bytes: 10) == (isFlushed ? 21 : 1), "blocks are read as a whole")
    try rig.flush()
    rig.changeWithoutJournal(3)
    #expect(try Self.first(rig) == 24, "the last changes are lost")
    try rig.send("user:1")
    try rig.forget("user:1")
    #expect(try Self.first(rig) == 24)
    var found: [UInt64] = []
    #expect(try rig.source.forEachChange(from: 24, through: 25) { found.append($0.sequence) })
    #expect(found == [25], "nothing of a forgotten subject")
  }

  @Test(arguments: [0, 7])
  func `a journal takes the entries after its own from the tail beside a copy`(known: Int) throws {
    let (rig, other) = (try JournalRig(), try JournalRig())
    for number in 1...10 { try rig.send("user:\(number)") }
    try rig.flush()
    try rig.forget("user:6")
    for number in 12...14 { try rig.send("user:\(number)") }
    for number in 0..<known { try other.send("user:\(number + 1)") }
    try other.flush()
    other.end()
    let store = "\(other.folder.path)/store"
    try rig.source.writeTail(to: store, through: 13, count: 9, byteCount: 1 << 20)
    let journal = Journal(folder: "\(store)/journal", settings: Configuration.Journal())
    journal.takeTail(of: store)
    let own = (0..<known).map { UInt64($0 + 1) }.filter { $0 != 6 }
    let tail = ([5] + Array(7...13)).filter { $0 > UInt64(known) }
    #expect(try rig.entries(of: FolderJournal(folder: journal.folder)).map(\.sequence) == own + tail)
    #expect(journal.summary.last == 13 && !SystemFiles().exists("\(store)/\(JournalTail.name)"))
    #expect(try FolderJournal(folder: journal.folder).gaps.isEmpty)
    #expect(Array("user:6".utf8).withView { journal.state.forgotten.isErased($0, after: 10) }, "its name goes, too")
  }
}
