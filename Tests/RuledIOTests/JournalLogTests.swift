import Glibc
import RuledCore
import Testing

@testable import RuledIO

@Suite struct JournalLogTests {
  @Test func `a line becomes an entry with a field for each of its parts`() {
    let line = LogLine(
      .warn, "the rule\nfailed", plugin: "greeter", rule: "greet", event: "e1", subjectHash: "9f2c",
      fields: #"{"tries":2}"#)
    #expect(
      JournalLog.fields(of: line) == [
        "MESSAGE=the rule\nfailed", "PRIORITY=4", "SYSLOG_IDENTIFIER=ruled", "PLUGIN=greeter", "RULED_PLUGIN=greeter",
        "RULE=greet", "RULED_RULE=greet", "EVENT_ID=e1", "RULED_EVENT=e1", "SUBJECT_HASH=9f2c",
        #"RULED_FIELDS={"tries":2}"#,
      ])
  }

  @Test func `text that would steer a terminal is escaped`() {
    let line = LogLine(.info, "a\u{9B}2J", plugin: "p\u{202E}")
    #expect(
      JournalLog.fields(of: line).filter { !$0.contains("PRIO") && !$0.contains("SYSLOG") }
        == [#"MESSAGE=a\u009b2J"#, #"PLUGIN=p\u202e"#, #"RULED_PLUGIN=p\u202e"#])
  }

  @Test(arguments: [(LogLine.Level.debug, 7), (.info, 6), (.warn, 4), (.error, 3)])
  func `each level has the priority of syslog`(level: LogLine.Level, priority: Int) {
    let fields = JournalLog.fields(of: LogLine(level, "a"))
    #expect(fields == ["MESSAGE=a", "PRIORITY=\(priority)", "SYSLOG_IDENTIFIER=ruled"])
  }

  @Test func `only the stream that systemd names leads to the journal`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    var status = stat()
    try #require(fstat(ends[1], &status) == 0)
    #expect(JournalLog.isJournal(ends[1], "\(status.st_dev):\(status.st_ino)"))
    #expect(!JournalLog.isJournal(ends[1], "\(status.st_dev):\(status.st_ino + 1)"))
    #expect(!JournalLog.isJournal(ends[1], nil))
  }
}
