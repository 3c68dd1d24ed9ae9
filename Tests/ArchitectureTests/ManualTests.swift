import Testing

/// Holds the manual pages in `docs/man` against what they describe.
@Suite struct ManualTests {
  private static func text(_ page: String) -> String { Repository.text(of: "\(Repository.root)/docs/man/\(page)") }

  @Test func `ruled.conf(5) has exactly the keys of the page on operations, in its order`() throws {
    let operations = Repository.lines(of: "\(Repository.root)/docs/operations.md")
    let start = try #require(operations.firstIndex { $0.hasPrefix("| key | default |") })
    let keys = operations[start...].dropFirst(2).prefix { $0.hasPrefix("|") }.compactMap {
      $0.split(separator: "`").dropFirst().first
    }
    let entries = Self.text("ruled.conf.5.md").split(separator: "\n").filter {
      $0.hasPrefix("**") && $0.hasSuffix("**")
    }
    #expect(keys.count > 20)
    #expect(entries.map { String($0.dropFirst(2).dropLast(2).filter { $0 != "\\" }) } == keys.map { String($0) })
  }

  @Test func `no placeholder of a manual page is taken for a tag of HTML, which go-md2man drops`() {
    let pages = Repository.entries(of: "\(Repository.root)/docs/man")
    #expect(!pages.isEmpty)
    for page in pages {
      var isCode = false
      for line in Self.text(page).split(separator: "\n") {
        if line.hasPrefix("```") { isCode.toggle() }
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        let prose = parts.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        let hasTag = prose.contains { part in
          part.split(separator: "<", omittingEmptySubsequences: false).dropLast().contains { !$0.hasSuffix("\\") }
        }
        #expect(isCode || !hasTag, "\(page): write \\< and \\> in '\(line)'")
      }
    }
  }

  @Test func `ruled-rules(7) names each global that rules and tests have`() {
    let globals = PageTests.quoted(Repository.text(of: "\(Repository.root)/.luacheckrc"), from: "read_globals")
    let page = Self.text("ruled-rules.7.md")
    #expect(globals.count > 20)
    for name in globals { #expect(page.contains("**\(name)**"), "ruled-rules(7) does not name \(name)") }
  }

  @Test(arguments: ["systemd/ruled.service", "systemd/ruled.socket"])
  func `each manual page that a unit names exists`(unit: String) {
    let pages = Repository.text(of: "\(Repository.root)/\(unit)").split(whereSeparator: { $0 == " " || $0 == "\n" })
      .flatMap { $0.split(separator: "=") }.filter { $0.hasPrefix("man:ruled") }
    #expect(!pages.isEmpty)
    for page in pages {
      let name = page.dropFirst(4).dropLast().split(separator: "(").joined(separator: ".")
      #expect(!Self.text("\(name).md").isEmpty, "\(unit) names \(page)")
    }
  }
}

extension PageTests {
  /// The words in double quotes that follow the first `word` of a text.
  static func quoted(_ text: String, from word: String) -> [Substring] {
    let parts = text.split(separator: word, maxSplits: 1)
    guard parts.count == 2 else { return [] }
    return parts[1].split(separator: "\"", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map(\.element).filter { $0.allSatisfy(\.isLetter) }
  }
}
