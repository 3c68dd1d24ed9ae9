import RuledCore
import TestSupport
import Testing

@testable import RuledJournal
@testable import RuledStore

/// Bytes of the journal that the disk has changed.
@Suite struct DamageTests {
  /// A journal with a block for each of the sequences 1 to 5, in one file that may be complete.
  private static func rig(isComplete: Bool = false) throws -> JournalRig {
    let rig = try JournalRig(flushes: true)
    for number in 1...5 {
      try rig.send("user:\(number)", #"{"x":"marker \#(number)"}"#)
      try rig.flush()
    }
    if isComplete { rig.journal.completeCurrent() }
    return rig
  }

  private static func path(_ rig: JournalRig, from first: UInt64 = 1) -> String {
    JournalFiles.path(first, in: rig.journal.folder)
  }

  /// Flips a bit of a byte, counted from the end of the file if `offset` is negative.
  private static func flip(_ offset: Int, in path: String) throws {
    var byte = try Data.bytes(of: path)[offset < 0 ? try Data.bytes(of: path).count + offset : offset]
    byte ^= 1
    let file = try SystemFiles().open(path, .update)
    let start = offset < 0 ? try file.size() + offset : offset
    try [byte].withView { (byte) throws(StoreError) in try file.write(byte, at: start) }
  }

  /// The offset of a block in the first file.
  private static func offset(ofBlock index: Int, in rig: JournalRig) throws -> Int {
    try JournalFile(path(rig), SystemFiles()).blocks[index].offset
  }

  @Test(arguments: [true, false], [1, 3, 5])
  func `a start keeps a damaged file as it is, reads what is whole, and tells the gap`(isComplete: Bool, lost: Int)
    throws
  {
    let rig = try Self.rig(isComplete: isComplete)
    try Self.flip(try Self.offset(ofBlock: lost - 1, in: rig) + 70, in: Self.path(rig))
    let before = try Data.bytes(of: Self.path(rig))
    try rig.restart()
    rig.journal.start()
    let left = (1...5).filter { $0 != lost }.map { UInt64($0) }
    #expect(try rig.entries().map(\.sequence) == left)
    #expect(try Data.bytes(of: Self.path(rig)) == before)
    for gaps in [rig.source.gaps, isComplete ? rig.source.gaps : try rig.tools.gaps] {
      #expect(gaps.map(\.first) == [UInt64(lost)] && gaps.map(\.last) == [UInt64(lost)])
      #expect(gaps.allSatisfy { $0.isDamage && $0.reason.contains("is damaged") })
    }
    #expect(rig.journal.damages.count == 1)
    try rig.send("user:6")
    try rig.flush()
    try rig.restart()
    rig.journal.start()
    #expect(try rig.entries().map(\.sequence) == left + [6])
    #expect(rig.source.gaps.map(\.first) == [UInt64(lost)])
  }

  @Test func `a block of which the header is damaged is no torn end either, and the log may have it again`() throws {
    let rig = try Self.rig()
    try Self.flip(try Self.offset(ofBlock: 4, in: rig) + 9, in: Self.path(rig))
    try rig.restart()
    rig.journal.start()
    #expect(rig.source.gaps.map(\.first) == [5] && rig.journal.damages.count == 1)
    let other = try JournalRig()
    for number in 1...2 { try other.send("user:\(number)") }
    try other.store.seal()
    for commits in other.store.loggedCommits { other.journal.consume(commits) }
    try Self.flip(-1, in: Self.path(other))
    try other.restart()
    try other.flush()
    #expect(try other.entries(of: other.tools).map(\.sequence) == [1, 2] && other.journal.damages.isEmpty)
  }

  @Test(arguments: [0, -1, -20])
  func `a damaged beginning or index of a file costs no entry`(offset: Int) throws {
    let rig = try Self.rig(isComplete: true)
    try rig.send("user:6")
    try rig.flush()
    try Self.flip(offset, in: Self.path(rig))
    try rig.restart()
    rig.journal.start()
    #expect(try rig.entries().map(\.sequence) == Array(1...6))
    #expect(rig.source.gaps.isEmpty && rig.journal.figures.files == 2)
  }

  @Test func `a file of which nothing can be read counts, and goes as the others do`() throws {
    let rig = try Self.rig(isComplete: true)
    try rig.send("user:6")
    try rig.flush()
    let file = try SystemFiles().open(Self.path(rig), .update)
    try [UInt8](repeating: 7, count: try file.size()).withView { (bytes) throws(StoreError) in
      try file.write(bytes, at: 0)
    }
    try rig.restart()
    rig.journal.start()
    #expect(try rig.entries().map(\.sequence) == [6])
    #expect(rig.source.gaps.map(\.last) == [5] && rig.source.first == 1 && rig.journal.figures.files == 2)
    try rig.journal.retain(now: Timestamp(microseconds: 7 * 86_400_000_000 + 7_000_000))
    #expect(!SystemFiles().exists(Self.path(rig)) && rig.source.gaps.isEmpty)
  }

  @Test func `readers of a journal that runs skip damage, and it is told from then on`() throws {
    let rig = try Self.rig()
    try Self.flip(try Self.offset(ofBlock: 2, in: rig) + 70, in: Self.path(rig))
    #expect(rig.journal.damages.isEmpty)
    #expect(try rig.entries().map(\.sequence) == [1, 2, 4, 5])
    #expect(rig.source.gaps.map(\.first) == [3] && rig.journal.damages.count == 1)
    var changes: [UInt64] = []
    let first = try rig.source.firstChange(through: 5, count: 100, byteCount: 1 << 20)
    #expect(try rig.source.forEachChange(from: first, through: 5) { changes.append($0.sequence) })
    #expect(changes == [4, 5])
    #expect(try !rig.source.forEachChange(from: 1, through: 5) { _ in })
    try Self.flip(try Self.offset(ofBlock: 4, in: rig) + 70, in: Self.path(rig))
    #expect(try rig.entries().map(\.sequence) == [1, 2, 4])
    #expect(rig.source.gaps.map(\.first) == [3, 5])
  }

  @Test func `what a power cut tears before it is synced comes again from the log`() throws {
    let rig = try JournalRig()
    try rig.send("user:1")
    try rig.flush()
    let text = String(repeating: "x", count: 40_000)
    for number in 2...40 { try rig.send("user:\(number)", "\"\(text)\(number)\"") }
    try rig.store.seal()
    for commits in rig.store.loggedCommits { rig.journal.consume(commits) }
    let torn = try JournalFile(Self.path(rig), SystemFiles()).blocks
    #expect(torn.count > 3)
    try Self.flip(torn[1].offset + 70, in: Self.path(rig))
    try rig.restart()
    try rig.flush()
    #expect(try rig.entries(of: rig.tools).map(\.sequence) == Array(1...40))
    #expect(rig.source.gaps.isEmpty && rig.journal.damages.isEmpty)
  }

  @Test(arguments: [true, false])
  func `erasing a subject drops damaged blocks that may have it, and the gap stays told`(isFoundAtStart: Bool) throws {
    let rig = try Self.rig(isComplete: true)
    try Self.flip(try Self.offset(ofBlock: 1, in: rig) + (isFoundAtStart ? 0 : 70), in: Self.path(rig))
    if isFoundAtStart { try Self.flip(-1, in: Self.path(rig)) }
    try rig.send("user:6")
    try rig.flush()
    try rig.restart()
    rig.journal.start()
    try rig.forget("user:2")
    try rig.journal.erase(from: rig.store) { true }
    #expect(try rig.entries(of: rig.tools).map(\.sequence) == [1, 3, 4, 5, 6, 7])
    let gap = try #require(try rig.tools.gaps.first)
    #expect(gap.first == 2 && gap.last == 2 && !gap.isDamage && gap.reason.contains("is damaged"))
    #expect(rig.source.gaps == [gap] && rig.journal.damages.isEmpty && rig.journal.state.forgotten.isEmpty)
    #expect(try !rig.isAnywhere("marker 2"))
    #expect(try Folder.names(rig.journal.folder).allSatisfy { !$0.hasSuffix(".new") })
    try rig.restart()
    rig.journal.start()
    #expect(rig.source.gaps == [gap] && rig.journal.damages.isEmpty)
  }

  @Test func `erasing reaches a file that a failure has ended without an index`() throws {
    let rig = try Self.rig()
    rig.files.fail(after: 0)
    try rig.send("user:6")
    try rig.flush()
    rig.files.mend()
    try rig.send("user:7")
    try rig.flush()
    try rig.forget("user:2")
    try rig.journal.erase(from: rig.store) { true }
    #expect(try rig.files(with: "user:2").isEmpty)
  }

  @Test func `a damaged list of forgotten subjects is made anew of the entries`() throws {
    let rig = try Self.rig()
    try rig.forget("user:2")
    try rig.flush()
    try Self.flip(20, in: "\(rig.journal.folder)/\(ForgottenSubjects.name)")
    #expect(try rig.entries(of: rig.tools).map(\.sequence) == [1, 3, 4, 5, 6])
    try rig.restart()
    rig.journal.start()
    #expect(rig.journal.failure == nil)
    #expect(rig.journal.damages.count == 1)
    #expect(try rig.entries().map(\.sequence) == [1, 3, 4, 5, 6])
    try rig.journal.erase(from: rig.store) { true }
    #expect(try !rig.isAnywhere("marker 2"))
    try rig.restart()
    rig.journal.start()
    #expect(rig.journal.damages.isEmpty)
  }
}
