import RuledCore
import RuledJSON
import TestSupport
import Testing

@testable import RuledJournal
@testable import RuledStore

/// What the log holds for the journal, in its files and before it is there.
@Suite struct FlushTests {
  @Test func `an entry is read before and after it is flushed, and is the same`() throws {
    let rig = try JournalRig()
    try rig.send("user:1", #"{"a":1}"#, decisions: #""p":{"k":1}"#, effects: #"{"plugin":"p"}"#)
    try rig.send("user:2", hasID: false)
    let before = try rig.entries()
    #expect(before.map(\.sequence) == [1, 2])
    #expect(before[0].subject == "user:1" && before[0].version == 1 && before[0].revision == "r1")
    #expect(
      String(decoding: before[0].event, as: UTF8.self) == #"{"type":"t","subject":"user:1","id":"id-1","data":{"a":1}}"#
    )
    #expect(String(decoding: before[0].decisions, as: UTF8.self) == #""p":{"k":1}"#)
    #expect(
      String(decoding: before[1].event, as: UTF8.self) == #"{"id":"id-2","type":"t","subject":"user:2","data":{}}"#)
    let state = ByteBuffers(#"{"n":1}"#)
    #expect(before[0].digests == [.init(plugin: "p", state: hash64(state[0], seed: 0))])
    rig.journal.start()
    #expect(try rig.entries(of: rig.tools).isEmpty)
    try rig.flush()
    #expect(try rig.entries() == before)
    #expect(try rig.entries(of: rig.tools) == before)
  }

  @Test func `the events of one batch are numbered backwards from its last change`() throws {
    let rig = try JournalRig()
    try rig.sendTogether(["a", "b", "c"])
    try rig.sendTogether(["d", "a"])
    #expect(
      try rig.entries().map { "\($0.sequence)\($0.subject)\($0.version)" } == ["1a1", "2b1", "3c1", "4d1", "5a2"])
  }

  @Test func `ranges choose by sequence, time and subject`() throws {
    let rig = try JournalRig()
    for number in 1...3_000 { try rig.send("user:\(number % 100)", at: Int64(number) * 1_000_000) }
    try rig.flush()
    for number in 3_001...3_100 { try rig.send("user:\(number % 100)", at: Int64(number) * 1_000_000) }
    var range = JournalRange()
    range.subject = "user:7"
    #expect(try rig.entries(range).map(\.sequence) == stride(from: 7, through: 3_100, by: 100).map { UInt64($0) })
    range.first = 2_500
    range.last = 2_800
    #expect(try rig.entries(range).map(\.sequence) == [2_507, 2_607, 2_707])
    var times = JournalRange()
    times.since = Timestamp(microseconds: 2_990_000_000)
    times.until = Timestamp(microseconds: 3_010_000_000)
    #expect(try rig.entries(times).map(\.sequence) == Array(2_990...3_010))
    var seen = 0
    try rig.source.forEach(in: JournalRange()) { _ in
      seen += 1
      return seen < 5
    }
    #expect(seen == 5)
  }

  @Test func `a restart at any moment neither loses an entry nor has it twice`() throws {
    for moment in 0..<40 {
      let rig = try JournalRig()
      try rig.send("a")
      try rig.flush()
      rig.files.fail(after: moment)
      for number in 0..<200 { try rig.send("user:\(number % 7)", "\"\(String(repeating: "x", count: 400))\"") }
      // the process dies while the journal is written: the flushed entries are still in the log
      try rig.store.seal()
      rig.journal.consume(rig.store.loggedCommits[0])
      rig.files.mend()
      try rig.restart()
      try rig.flush()
      #expect(try rig.entries().map(\.sequence) == Array(1...201), "moment \(moment)")
      #expect(try rig.entries(of: rig.tools).map(\.sequence) == Array(1...201), "moment \(moment)")
      #expect(try rig.tools.gaps.isEmpty)
    }
  }

  @Test func `a torn file is read up to its last whole block, and continued there`() throws {
    let rig = try JournalRig()
    for _ in 0..<50 { try rig.send("user:1") }
    try rig.flush()
    let path = JournalFiles.path(1, in: rig.journal.folder)
    let whole = try Data.bytes(of: path)
    let file = try SystemFiles().open(path, .update)
    let torn = Array(whole.suffix(whole.count - 8).prefix(whole.count / 2))
    try torn.withView { try file.write($0, at: whole.count) }
    #expect(try rig.entries(of: rig.tools).count == 50)
    try rig.restart()
    try rig.send("user:2")
    try rig.flush()
    #expect(try rig.entries(of: rig.tools).map(\.sequence) == Array(1...51))
  }

  @Test
  func
    `a full disk stops the journal and not the commits; the gap has bounds and a reason, and what comes after is kept`()
    throws
  {
    let rig = try JournalRig()
    try rig.send("a")
    try rig.flush()
    rig.files.fail(after: 0)
    try rig.sendTogether(["b", "c"])
    try rig.flush()
    #expect(rig.journal.failure?.gap == JournalGap(first: 2, last: 3, reason: rig.journal.failure?.gap.reason ?? ""))
    #expect(rig.source.gaps.count == 1)
    try rig.send("d")
    try rig.flush()
    #expect(rig.journal.failure?.gap.last == 4)
    rig.files.mend()
    try rig.send("e")
    try rig.flush()
    #expect(rig.journal.failure == nil)
    #expect(try rig.entries().map(\.sequence) == [1, 5])
    let gaps = try rig.tools.gaps
    #expect(gaps.map(\.first) == [2] && gaps.map(\.last) == [4])
    #expect(gaps[0].reason.contains("no space"))
    try rig.restart()
    rig.journal.start()
    #expect(rig.source.gaps == gaps)
  }

  @Test func `a journal whose disk has space again is written again, though nothing more is flushed`() throws {
    let rig = try JournalRig()
    rig.files.fail(after: 0)
    try rig.send("a")
    try rig.flush()
    rig.journal.retry()
    #expect(rig.journal.failure?.gap.last == 1)
    rig.files.mend()
    rig.journal.retry()
    #expect(rig.journal.failure == nil)
    #expect(try rig.tools.gaps.map(\.first) == [1])
    rig.journal.retry()
    try rig.send("b")
    try rig.flush()
    #expect(try rig.entries().map(\.sequence) == [2])
    try rig.restart()
    rig.journal.start()
    #expect(rig.source.gaps.map(\.last) == [1])
  }

  @Test func `a file of an earlier version is read, and the journal goes on in another`() throws {
    let rig = try JournalRig(flushes: true)
    for number in 1...30 { try rig.send("user:\(number % 4)", "{\"n\":\(number)}") }
    let before = try rig.entries()
    try rig.flush()
    let path = JournalFiles.path(1, in: rig.journal.folder)
    try EarlierFiles.write(before, to: path)
    try rig.restart()
    rig.journal.start()
    #expect(try rig.entries() == before)
    try rig.send("user:1")
    try rig.flush()
    #expect(try rig.entries(of: rig.tools).count == 31)
    #expect(try rig.entries(of: rig.tools).dropLast() == before[...])
    #expect(try JournalFile(path, SystemFiles()).isComplete)
    #expect(try JournalFile(JournalFiles.path(31, in: rig.journal.folder), SystemFiles()).blocks.count == 1)
    // a rewritten block is in today's layout
    try rig.forget("user:1")
    try rig.flush()
    try rig.journal.erase(from: rig.store) { true }
    let kept = before.filter { $0.subject != "user:1" }
    #expect(try rig.entries(of: rig.tools).filter { $0.origin == .client } == kept)
    #expect(try rig.files(with: "user:1").isEmpty)
  }

  @Test func `events of the time when the journal was off are a gap`() throws {
    let rig = try JournalRig()
    try rig.send("a")
    rig.changeWithoutJournal(10)
    try rig.send("b")
    try rig.flush()
    #expect(try rig.tools.gaps == [JournalGap(first: 2, last: 11, reason: JournalFiles.unknownReason)])
    #expect(try rig.entries().map(\.sequence) == [1, 12])
  }

  @Test func `a reader of the last entries begins close to them, and finds the same as a reader from the start`() throws
  {
    let rig = try JournalRig()
    for number in 0..<2_000 {
      try rig.send("user:\(number % 7)", hasID: number % 3 > 0)
      if number % 5 == 0 { try rig.sendTogether(["a", "b"]) }
    }
    let logged = rig.store.loggedCommits
    #expect(logged.count > 4)
    #expect(rig.journal.marks.last(before: .max, in: logged) == nil)
    let all = try rig.entries()
    let last = try #require(all.last?.sequence)
    for first in stride(from: 1, through: last, by: 97) {
      var range = JournalRange()
      range.first = first
      #expect(try rig.entries(range) == all.filter { $0.sequence >= first })
      let mark = rig.journal.marks.last(before: first, in: logged)
      #expect(mark.map { $0.sequence < first } ?? (first < 600), "from \(first)")
    }
    let segments = logged.map(\.number)
    #expect(rig.journal.marks.last(before: last, in: logged)?.segment == segments.last)
    #expect(rig.journal.marks.last(before: last, in: []) == nil)
    try rig.flush()
    #expect(try rig.entries() == all)
  }

  @Test func `marks of one segment are apart, and go with their segments`() {
    let marks = LogMarks()
    for offset in stride(from: 0, to: 4 << 20, by: 1000) { marks.note(.init(segment: 3, offset: offset, sequence: 5)) }
    marks.note(.init(segment: 2, offset: 9 << 20, sequence: 9))
    let known = marks.all
    #expect(known.count == 4)
    #expect(zip(known, known.dropFirst()).allSatisfy { $1.offset - $0.offset >= LogMarks.spacing })
    marks.note(.init(segment: 4, offset: 0, sequence: 8))
    #expect(marks.all.count == 5)
  }
}
