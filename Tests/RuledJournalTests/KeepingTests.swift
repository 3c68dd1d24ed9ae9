import RuledCore
import TestSupport
import Testing

@testable import RuledJournal
@testable import RuledStore

/// What goes from the journal: old files, forgotten subjects, redacted values.
@Suite struct KeepingTests {
  private static let day: Int64 = 86_400_000_000

  @Test func `whole files go when they are older than is kept, the oldest first`() throws {
    let rig = try JournalRig { $0.keep = 8 * Self.day }
    for day in 1...12 {
      try rig.send("a", at: Int64(day) * Self.day)
      try rig.send("a", at: Int64(day) * Self.day + Self.day - 1)
      try rig.flush()
      rig.journal.completeCurrent()
    }
    try rig.journal.retain(now: Timestamp(microseconds: 13 * Self.day))
    #expect(try rig.entries(of: rig.tools).first?.at == Timestamp(microseconds: 5 * Self.day))
    #expect(try rig.entries().count == 16)
    try rig.journal.retain(now: Timestamp(microseconds: 100 * Self.day))
    #expect(try rig.entries().isEmpty)
  }

  @Test func `the oldest files go when all take too much room`() throws {
    let rig = try JournalRig { $0.maxBytes = 2_500 }
    for _ in 0..<20 {
      try rig.send("a")
      try rig.flush()
      rig.journal.completeCurrent()
    }
    try rig.journal.retain(now: Timestamp(microseconds: 30_000_000))
    #expect(rig.journal.figures.bytes <= 2_500)
    let left = try rig.entries()
    #expect(!left.isEmpty && left.last?.sequence == 20)
  }

  @Test
  func
    `a forgotten subject is not read any more, and its bytes are gone from files and snapshots once they are erased`()
    throws
  {
    let rig = try JournalRig(flushes: true)
    try rig.send("secret:person", #"{"x":"hidden text"}"#)
    try rig.send("other")
    try rig.flush()
    try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 5))
    try rig.send("secret:person")
    try rig.forget("secret:person")
    try rig.send("secret:person")
    let visible: [UInt64] = [2, 4, 5]
    #expect(try rig.entries().map(\.sequence) == visible)
    try rig.flush()
    #expect(try rig.entries().map(\.sequence) == visible)
    #expect(try rig.entries(of: rig.tools).map(\.sequence) == visible)
    try rig.restart()
    rig.journal.start()
    #expect(try rig.entries().map(\.sequence) == visible)
    #expect(try rig.isAnywhere("hidden text"))
    try rig.forget("secret:person")
    try rig.journal.erase(from: rig.store) { true }
    #expect(try rig.files(with: "secret:person").isEmpty)
    #expect(try !rig.isAnywhere("hidden text"))
    #expect(try rig.entries(of: rig.tools).map(\.sequence) == [2, 4, 6])
    #expect(try rig.tools.gaps.isEmpty)
    #expect(rig.journal.state.forgotten.isEmpty)
    let snapshot = try #require(rig.journal.snapshots.first)
    let copy = try RocksStore(path: snapshot.path)
    var subjects: [String] = []
    try copy.scan(from: [], to: nil) { key, _ in
      if case .record(let subject)? = try? ParsedKey(key) { subjects.append(String(decoding: subject, as: UTF8.self)) }
      return true
    }
    #expect(subjects == ["other"])
    try copy.close()
  }

  @Test
  func `no file of the store has a forgotten subject's bytes, also in a snapshot that was taken after the forget`()
    throws
  {
    let rig = try JournalRig(flushes: true)
    let store = rig.folder.path + "/store"
    try rig.send("secret:person", #"{"x":"hidden 8d1f40c2b7"}"#, decisions: #""p":{"x":"hidden 8d1f40c2b7"}"#)
    try rig.send("secret:again", #"{"x":"hidden 8d1f40c2b7"}"#)
    try rig.send("other")
    try rig.flush()
    try rig.forget("secret:person")
    try rig.forget("secret:again")
    try rig.flush()
    try rig.send("secret:again", #"{"x":"new"}"#)
    try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 5))
    try rig.send("late:person", #"{"x":"hidden 8d1f40c2b7"}"#)
    try rig.forget("late:person")
    try SystemFiles().createFolder(store + "/salvaged-20301125T000000000")
    let salvaged = try SystemFiles().open(store + "/salvaged-20301125T000000000/1.log", .create)
    try Array("hidden 8d1f40c2b7".utf8).withView { (text) throws(StoreError) in try salvaged.write(text, at: 0) }
    let before = try rig.files(with: "hidden 8d1f40c2b7", in: store)
    #expect(before.contains { $0.hasPrefix("salvaged-") })
    #expect(before.contains { $0.hasPrefix("log/") } && before.contains { $0.hasPrefix("journal/snapshots/") })
    try rig.journal.erase(from: rig.store) { true }
    for name in ["hidden 8d1f40c2b7", "secret:person", "late:person"] {
      #expect(try rig.files(with: name, in: store).isEmpty, "\(name)")
    }
    // A subject that came back before the snapshot is still in it, although another one was forgotten since.
    let copy = try RocksStore(path: try #require(rig.journal.snapshots.first).path)
    var subjects: [String] = []
    try copy.scan(from: [], to: nil) { key, _ in
      if case .record(let subject)? = try? ParsedKey(key) { subjects.append(String(decoding: subject, as: UTF8.self)) }
      return true
    }
    #expect(subjects == ["other", "secret:again"])
    try copy.close()
    try rig.send("other")
    try rig.restart()
    rig.journal.start()
    #expect(try rig.entries().map(\.subject) == ["other", "", "", "secret:again", "", "other"])
  }

  @Test func `a snapshot is taken before files go for want of room, and entries before the first one are told`()
    throws
  {
    let rig = try JournalRig { $0.maxBytes = 6_000 }
    try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 0))
    for _ in 1...60 {
      try rig.send("a")
      try rig.flush()
      rig.journal.completeCurrent()
      if rig.journal.needsSnapshot(now: Timestamp(microseconds: 60_000_000)) {
        try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 60_000_000))
      }
      try rig.journal.retain(now: Timestamp(microseconds: 60_000_000))
      let entries = try rig.entries().map(\.sequence)
      let base = try #require(rig.source.bases.first)
      #expect(entries.isEmpty || base.sequence + 1 >= entries[0])
      #expect(base.sequence < UInt64(entries.count) / 2 + (entries.first ?? 1))
      #expect(rig.journal.figures.bytes <= 6_000)
    }
    let first = try #require(try rig.entries().first).sequence
    let base = try #require(rig.source.bases.first)
    #expect(first > 1)
    let gap = rig.source.withoutBase(through: .max)
    #expect(gap.map { [$0.first, $0.last] } ?? [] == (base.sequence < first ? [] : [first, base.sequence]))
    #expect(try rig.tools.withoutBase(through: .max) == gap && rig.tools.bases == rig.source.bases)
    #expect(rig.journal.snapshots == rig.source.bases)
  }

  @Test func `entries whose snapshot was too old are said to have none, and a snapshot is due`() throws {
    let rig = try JournalRig { $0.maxBytes = 2_500 }
    try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 0))
    for _ in 1...20 {
      try rig.send("a")
      try rig.flush()
      rig.journal.completeCurrent()
    }
    let first = try #require(try rig.entries().first).sequence
    #expect(first > 1 && rig.source.bases.isEmpty)
    #expect(rig.source.withoutBase(through: 20).map { [$0.first, $0.last] } == [first, 20])
    #expect(rig.journal.needsSnapshot(now: Timestamp(microseconds: 0)))
  }

  @Test(arguments: [true, false])
  func `a file has at most an eighth of the room, and no burst takes more, even if nobody removes files in time`(
    retains: Bool
  ) throws {
    let rig = try JournalRig { $0.maxBytes = 4 << 20 }
    var random = SeededRandom(seed: 3)
    for _ in 1...60 {
      let text = (0..<16_000).map { _ in String(random.next(), radix: 36) }.joined()
      try rig.send("a", "{\"x\":\"\(text)\"}")
      if retains, rig.journal.needsSnapshot(now: Timestamp(microseconds: 0)) {
        try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 0))
      }
      try rig.flush()
      if retains { try rig.journal.retain(now: Timestamp(microseconds: 0)) }
      #expect(rig.journal.figures.bytes <= 4 << 20)
      let kept = rig.sequence - rig.source.first + 1
      let gap = rig.source.withoutBase(through: rig.sequence).map { $0.last - $0.first + 1 } ?? 0
      #expect(!retains || gap <= kept / 4, "\(gap) of \(kept) entries have no base")
    }
    let first = try #require(try rig.entries().first).sequence
    let figures = rig.journal.figures
    #expect(first > 1 && figures.files > 4)
    try rig.restart()
    rig.journal.start()
    #expect(rig.journal.figures.bytes == figures.bytes && rig.journal.figures.files == figures.files)
    #expect(try rig.entries().first?.sequence == first)
  }

  @Test func `a snapshot has all up to its sequence, and goes with the files behind it`() throws {
    let rig = try JournalRig { $0.keep = 8 * Self.day }
    #expect(rig.journal.needsSnapshot(now: Timestamp(microseconds: Self.day)))
    try rig.send("a", at: Self.day)
    try rig.flush()
    rig.journal.completeCurrent()
    try rig.send("b", at: Self.day)
    try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: Self.day))
    #expect(rig.journal.snapshots.map(\.sequence) == [2])
    #expect(!rig.journal.needsSnapshot(now: Timestamp(microseconds: Self.day + 5)))
    #expect(rig.journal.needsSnapshot(now: Timestamp(microseconds: 2 * Self.day)))
    try rig.send("c", at: 20 * Self.day)
    try rig.flush()
    rig.journal.completeCurrent()
    try rig.send("d", at: 20 * Self.day)
    try rig.flush()
    try rig.journal.takeSnapshot(of: rig.store, now: Timestamp(microseconds: 20 * Self.day))
    try rig.journal.retain(now: Timestamp(microseconds: 21 * Self.day))
    #expect(rig.journal.snapshots.map(\.sequence) == [2, 4])
    try rig.journal.retain(now: Timestamp(microseconds: 40 * Self.day))
    #expect(rig.journal.snapshots.map(\.sequence) == [4])
  }

  @Test func `redacted values are digests in the event and where they occur again, before they are in a file`() throws {
    let rig = try JournalRig { $0.redact = ["email", "profile.phone", "absent.path"] }
    try rig.send(
      "a", #"{"email":"eve@example.org","profile":{"phone":"+49 30 1234567","name":"Eve"}}"#,
      decisions: #""p":{"to":"eve@example.org"}"#)
    try rig.send("b", #"{"name":"Bob"}"#)
    let early = try rig.entries()
    try rig.flush()
    let entries = try rig.entries()
    #expect(entries == early)
    #expect(entries[0].redacted == ["email", "profile.phone"] && entries[1].redacted.isEmpty)
    let text = String(decoding: entries[0].event + entries[0].decisions, as: UTF8.self)
    #expect(!text.contains("eve@") && !text.contains("1234567") && text.contains("Eve"))
    #expect(text.components(of: "sha256:") == 3)
    #expect(try !rig.isAnywhere("eve@example.org"))
    #expect(try !rig.isAnywhere("1234567"))
  }

  @Test func `redacted values are also replaced in texts, as numbers, and within objects and arrays`() throws {
    let rig = try JournalRig { $0.redact = ["email", "card", "pin", "people.name", "home", "count"] }
    try rig.send(
      "a",
      #"{"email":"Eve@Example.org","card":4111111111111111,"pin":"12345","people":[{"name":"Bo"},{"name":"Ann"}],"#
        + #""home":{"street":"Main Street 5","lines":["second floor"]},"count":7}"#,
      decisions:
        #""email":{"Ann":"Ann, Annual","to":"mail eve@example.org!","eve@example.org":1,"n":7,"b":"Bo","#
        + #""deep":["a 4111111111111111",4111111111111111,4.111111111111111e15,12345,123456,"x12345"]}"#,
      effects: #"{"id":"pin","plugin":"Ann","sink":"Ann","type":"Ann","data":"#
        + #"{"at":"main street 5, SECOND floor","Ann":"\nAnn"}}"#)
    try rig.flush()
    let entry = try #require(try rig.entries().first)
    #expect(entry.redacted == ["email", "card", "pin", "people.name", "home", "count"])
    func digest(_ value: JSONValue) -> String { RedactedValues.digest(of: value) }
    let (ann, mail, card) = (digest("Ann"), digest("Eve@Example.org"), digest(4_111_111_111_111_111))
    #expect(
      String(decoding: entry.decisions, as: UTF8.self)
        == #""email":{"Ann":"\#(ann), Annual","to":"mail \#(mail)!","eve@example.org":1,"n":7,"b":"Bo","#
        + #""deep":["a \#(card)","\#(card)","\#(card)","\#(digest("12345"))",123456,"x12345"]}"#)
    #expect(
      String(decoding: entry.effects, as: UTF8.self)
        == #"{"id":"pin","plugin":"Ann","sink":"Ann","type":"Ann","data":{"at":"\#(digest("Main Street 5")), "#
        + #"\#(digest("second floor"))","\#(ann)":"\n\#(ann)"}}"#)
    let data = try JSONValue(parsing: String(decoding: entry.event, as: UTF8.self))["data"]
    #expect(data?["people"] == [["name": .string(digest("Bo"))], ["name": .string(ann)]])
    #expect(data?["home"]?.stringValue?.hasPrefix("sha256:") == true)
  }

  @Test
  func `entries that a damaged log has lost are a gap after it was salvaged, and the readable ones are in the journal`()
    throws
  {
    for lost in [1, 3, 5] {
      let rig = try JournalRig()
      var ends: [Int] = []
      for number in 1...5 {
        try rig.send("user:\(number)", #"{"x":"marker \#(number)"}"#)
        ends.append(rig.store.logBytes)
      }
      try rig.store.syncCommits()
      rig.end()
      let path = rig.folder.path + "/store"
      let log = try #require(try Folder.names(path + "/log").first { $0.hasSuffix(".log") })
      let file = try SystemFiles().open("\(path)/log/\(log)", .update)
      try [UInt8(ascii: "?")].withView { (byte) throws(StoreError) in try file.write(byte, at: ends[lost - 1] - 1) }
      var salvage = LogSalvage(path: path)
      let report = try salvage.run(now: Timestamp(microseconds: 0), journal: rig.journal)
      #expect(report.subjects == ["user:\(lost)"])
      if let end = report.lost { rig.journal.noteSalvage(losing: end) }
      try rig.restart()
      rig.journal.start()
      #expect(rig.source.gaps.map(\.first) == [UInt64(lost)] && rig.source.gaps.map(\.last) == [UInt64(lost)])
      #expect(rig.source.gaps.allSatisfy { $0.reason.contains("--salvage") })
      #expect(try rig.entries().map(\.sequence) == [1, 2, 3, 4, 5].filter { $0 != lost })
      #expect(try rig.store.lastSequence() == 5)
    }
  }

  @Test func `a journal that is turned off is removed`() throws {
    let rig = try JournalRig()
    try rig.send("a")
    try rig.flush()
    try Journal.remove(of: rig.folder.path + "/store")
    #expect(!SystemFiles().exists(rig.journal.folder))
  }
}

extension String {
  /// How often a text occurs.
  fileprivate func components(of text: String) -> Int {
    var count = 0
    var rest = self[...]
    while let range = rest.firstRange(of: text) {
      count += 1
      rest = rest[range.upperBound...]
    }
    return count
  }
}
