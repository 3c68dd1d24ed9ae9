import Testing

/// Checks the names of tests, which are all that a failed run shows at first.
@Suite struct TestNameTests {
  @Test func `the name of each test is a sentence`() {
    for file in Repository.files(in: Repository.root + "/Tests", endingIn: [".swift"]) {
      var isPending = false
      for line in Repository.lines(of: file) {
        let words = line.split(whereSeparator: \.isWhitespace)
        if words.first?.hasPrefix("@Test") == true { isPending = true }
        guard isPending, let keyword = words.firstIndex(of: "func") else { continue }
        isPending = false
        // A long name stands on a line of its own.
        guard keyword + 1 < words.count else { continue }
        #expect(words[keyword + 1].hasPrefix("`"), "\(file): \(words[keyword + 1])")
      }
    }
  }
}
