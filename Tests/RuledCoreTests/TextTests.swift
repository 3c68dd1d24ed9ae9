import TestSupport
import Testing

@testable import RuledCore

@Suite struct TextTests {
  @Test(arguments: [
    ("A.example.:80", "a.example"), ("a", "a"), ("[::1]:8080", "[::1]"), ("[::1]", "[::1]"), ("a.:", "a"), ("", ""),
  ])
  func `hosts are compared without case, port and trailing dot`(_ host: String, _ normalized: String) {
    #expect(HostName.normalized(host) == normalized)
  }

  @Test func `Text that steers a terminal is escaped, in JSON with its value`() throws {
    // Cf, Zl and Zp of Unicode 15, and what else is to be ignored by default.
    let ranges: [ClosedRange<UInt32>] = [
      0x7F...0x9F, 0xAD...0xAD, 0x34F...0x34F, 0x600...0x605, 0x61C...0x61C, 0x6DD...0x6DD, 0x70F...0x70F,
      0x890...0x891, 0x8E2...0x8E2, 0x115F...0x1160, 0x17B4...0x17B5, 0x180B...0x180F, 0x200B...0x200F, 0x2028...0x202E,
      0x2060...0x206F, 0x3164...0x3164, 0xFEFF...0xFEFF, 0xFFA0...0xFFA0, 0xFFF0...0xFFFB,
    ]
    for value in 0...0xFFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let (text, isSteering) = ("a\(scalar)", ranges.contains { $0.contains(value) })
      guard (text.withoutSteering != text) == isSteering,
        (text.printable != text) == (isSteering || value < 0x20)
      else {
        Issue.record("U+\(String(value, radix: 16))")
        return
      }
    }
    #expect("a\u{E0041}".withoutSteering == "a\\udb40\\udc41" && "❤\u{FE0F}".withoutSteering == "❤\u{FE0F}")
    #expect("\u{1B}[1m\u{9B}2J\u{202E}é\n".withoutSteering == "\u{1B}[1m\\u009b2J\\u202eé\n")
    #expect("\u{1B}\u{9B}\t\u{200F}".printable == "\\u{1b}\\u{9b}\\t\\u{200f}")
    #expect("a\u{1B}\r\n\nb\t".printableLines == "a\\u{1b}\\u{d}\n\nb\\t")
  }

  @Test(arguments: [
    "user:1", "it's", "a b", "$(id)", "a\\b", "'\u{301}; id", "\u{202E}it's\\1", "\n", "", "é\u{200B}7", "-x",
  ])
  func `A shell reads a quoted word as it is`(_ word: String) {
    #expect(Program.run("bash", ["-c", "printf %s \(word.quotedForShell)"]).output == word)
  }

  @Test(arguments: [
    ("p/user:1@x._-", "p/user:1@x._-"), ("ä漢", "ä漢"), ("a b", "\"a b\""), ("a\"", #""a\"""#), ("", "\"\""),
    ("a\u{202E}", #""a\u{202e}""#),
  ])
  func `A name that could pass for other words is quoted`(_ name: String, _ shown: String) {
    #expect(name.quotedName == shown)
  }

  @Test(arguments: [
    ("http://x", true), ("HTTPS://x/a?b#c", true), ("https://u:p@x:8443/", true), ("https://[::1]:80/", true),
    ("https://[::1]", true), ("https://x:/", true), ("https://ä.de", true), ("https://a@b@c", true), ("", false),
    ("x", false), ("ftp://x", false), ("https:x", false), ("https://", false), ("https:///x", false),
    ("https://@/x", false), ("https://:80", false), ("https://[]", false), ("https://[::1", false),
    ("https://[::1]x/", false), ("https://a b/", false), ("https://x:99999/", false), ("https://x:8a/", false),
    ("https://x:+8/", false), ("https://x/\n", false), (" https://x", false),
  ])
  func `A URL of the web has a host and no control characters`(text: String, isURL: Bool) {
    #expect((WebURL(text) != nil) == isURL)
  }

  @Test func `All white space is trimmed and nothing else`() throws {
    for value in 0...0xFFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let trimmed = "\(scalar)\(scalar)a b\(scalar)"[...].trimmed
      guard (trimmed.utf8.count == 3) == scalar.properties.isWhitespace else {
        Issue.record("U+\(String(value, radix: 16))")
        return
      }
    }
    #expect(" \u{3000}\t"[...].trimmed == "")
    #expect(""[...].trimmed == "")
  }

  @Test(arguments: [
    ("the-boss/*", "the-boss/ios", true), ("the-boss/*", "the-boss/", true), ("the-boss/*", "the-boss", false),
    ("*", "", true), ("", "", true), ("", "a", false), ("*a*b", "xxaxbxb", true), ("*a*b", "xxaxbxc", false),
    ("a**c", "abc", true), ("a*", "b", false), ("*/ios", "x/y/ios", true), ("a.c", "abc", false), ("a", "ab", false),
  ])
  func `A star is any run of characters`(pattern: String, text: String, matches: Bool) {
    #expect(GlobPattern(pattern).matches(text) == matches)
  }

  @Test(arguments: [
    ("session.*", "session.started", true), ("session.*", "session", false), ("session.*", "sessions.x", false),
    ("a.b.*", "a.b.c.d", true), ("app.launched", "app.launched", true), ("app.launched", "app.launched2", false),
    ("*", "anything", true),
  ])
  func `An event pattern is a type, a prefix or everything`(pattern: String, type: String, matches: Bool) throws {
    let parsed = try #require(EventPattern(pattern))
    #expect(parsed.matches(type) == matches)
    #expect(parsed.text == pattern)
  }

  @Test(arguments: ["", ".*", "**", "a*", "a.*.b", "*.a", "a.**", "a\n"])
  func `Other patterns are refused`(pattern: String) { #expect(EventPattern(pattern) == nil) }

  @Test(
    arguments: [
      ("conections", "connections"), ("sokcet", "socket"), ("Socket", "socket"), ("workerz", "workers"), ("xyz", nil),
      ("durability_mode", nil), ("", nil), ("rule", "rules"), ("x", nil),
      ("conn", "connections"), ("so", "socket"), ("s", nil),
    ] as [(String, String?)])
  func `The nearest name is found and nothing far`(name: String, nearest: String?) {
    #expect(NearestName.find(name, in: ["socket", "rules", "connections", "workers", "a"]) == nearest)
  }

  @Test func `of very many names the first ones are looked at`() {
    let known = (0..<1000).map { "x\($0)" }
    #expect(NearestName.find("workerz", in: known.dropLast() + ["workers"]) == "workers")
    #expect(NearestName.find("workerz", in: known + ["workers"]) == nil)
  }

  /// The edits from one name to another, by the table of all beginnings of both.
  private static func edits(_ left: [Character], _ right: [Character]) -> Int {
    var table = (0...left.count).map { row in (0...right.count).map { row == 0 ? $0 : row } }
    for row in 0..<left.count {
      for column in 0..<right.count {
        let replaced = table[row][column] + (left[row] == right[column] ? 0 : 1)
        var best = min(table[row][column + 1] + 1, table[row + 1][column] + 1, replaced)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, table[row - 1][column - 1] + 1)
        }
        table[row + 1][column + 1] = best
      }
    }
    return table[left.count][right.count]
  }

  @Test func `A name is near by as many edits as a table of them says`() {
    var state: UInt64 = 1
    func draw(_ most: UInt64) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % most)
    }
    for _ in 0..<5000 {
      let names = (0..<2).map { _ in (0...draw(12)).map { _ in Array("abcé_1qde")[draw(9)] } }
      let (one, other) = (names[0], names[1])
      let isBeginning = one.count > 1 && other.starts(with: one) && other != one
      let edits = isBeginning ? 1 : Self.edits(one, other), longest = max(one.count, other.count)
      let isNear = edits <= max(1, longest / 3) && edits < longest
      #expect((NearestName.find(String(one), in: [String(other)]) != nil) == isNear, "\(String(one)) \(String(other))")
    }
  }
}
